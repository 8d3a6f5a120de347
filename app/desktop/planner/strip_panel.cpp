#include "app/desktop/planner/strip_panel.h"

#include <QScrollArea>
#include <QVBoxLayout>

#include <functional>
#include <utility>

#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/scene/tip.h"
#include "app/workspace/plans/knob_strips.h"
#include "app/workspace/scenario/workspace.h"
#include "core/base/error.h"
#include "visualizers/chart/time_plot.h"

namespace trainyard {

/// The strips as a scene; clicking a value asks for the plan with that value.
class KnobsScene : public Scene {
 public:
  explicit KnobsScene(std::function<void(const QString&)> asked) : asked_(std::move(asked)) {}

  void show(std::optional<KnobsModel> model, const QString& words) {
    model_ = std::move(model);
    words_ = words;
  }
  const std::optional<KnobsModel>& model() const { return model_; }

  Drawing draw(Size size, double) override {
    last_ = Drawing(size);
    if (model_)
      draw_knobs(last_, {0, 0, size.width, size.height}, *model_, {});
    else
      write(last_, words_.toStdString(), {12, 20}, 12, Weight::Regular, Ink::Text3);
    return last_;
  }

  bool input(const InputFrame& frame) override {
    if (!model_ || !frame.pressed[0]) return false;
    const Item item = hit(last_, frame.at);
    const std::size_t row = item.tag / kKnobDots, dot = item.tag % kKnobDots;
    if (item.kind != ItemKind::Dot || row >= model_->rows.size() ||
        dot >= model_->rows[row].dots.size())
      return false;
    const KnobDot& chosen = model_->rows[row].dots[dot];
    asked_(
        QString::fromStdString(model_->rows[row].knob + "=" + chosen.value + " " + chosen.beside));
    return true;
  }

  QString tooltip(Point at) override {
    if (!model_) return {};
    const Hover hover = describe_knobs(*model_, hit(last_, at));
    return hover.title.empty() ? QString() : tip_html(hover);
  }

  QString description() const override {
    if (!model_) return words_;
    QString words = "Knobs of the chosen plan, each turned alone:";
    for (const KnobRow& row : model_->rows)
      words += QString(" %1 now %2, %3 other values.")
                   .arg(QString::fromStdString(row.knob), QString::fromStdString(row.now))
                   .arg(row.dots.size());
    return words;
  }

 private:
  std::function<void(const QString&)> asked_;
  std::optional<KnobsModel> model_;
  QString words_ = "Choose a plan to see what each of its knobs is worth.";
  Drawing last_{Size{}};
};

namespace {

struct StripsAnswer {
  std::optional<KnobsModel> model;
  QString words;
};

StripsAnswer strips_of(const PlanFindings& findings, PlanId id) {
  StripsAnswer answer;
  try {
    const CostOf cost = [](const Scenario& s) {
      return std::shared_ptr<const CostModel>(cost_model(s));
    };
    answer.model = knobs_model(sensitivity(findings.space->scenario(id), cost));
  } catch (const Error& wrong) {
    answer.words = "Only a legal plan has strips. " + QString::fromStdString(describe(wrong));
  }
  return answer;
}

}  // namespace

StripPanel::StripPanel(QWidget* parent) : QWidget(parent) {
  auto scene = std::make_unique<KnobsScene>([this](const QString& words) { Q_EMIT asked(words); });
  scene_ = scene.get();
  canvas_ = new CanvasWidget("What each knob of the chosen plan is worth", std::move(scene));
  auto* scroll = new QScrollArea;
  scroll->setObjectName("panel");
  scroll->setFrameShape(QFrame::NoFrame);
  scroll->setWidgetResizable(true);
  scroll->setFocusPolicy(Qt::NoFocus);
  scroll->setAccessibleName("Knobs of the chosen plan");
  scroll->setWidget(canvas_);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->addWidget(scroll);
}

std::size_t StripPanel::rows() const { return scene_->model() ? scene_->model()->rows.size() : 0; }

void StripPanel::show_plan(std::shared_ptr<const PlanFindings> findings,
                           std::optional<PlanId> plan) {
  if (findings != findings_) priced_.reset();
  findings_ = std::move(findings);
  plan_ = plan;
  if (isVisible()) price();
}

void StripPanel::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  price();
}

void StripPanel::price() {
  if (plan_ == priced_ && plan_) return;
  priced_ = plan_;
  if (!plan_ || findings_ == nullptr) {
    work_.stop();
    scene_->show(std::nullopt, "Choose a plan to see what each of its knobs is worth.");
    return canvas_->refresh();
  }
  scene_->show(std::nullopt, "Turning each knob \u2026");
  canvas_->refresh();
  work_.ask([findings = findings_, id = *plan_](const std::stop_token&,
                                                const auto&) { return strips_of(*findings, id); },
            [this](StripsAnswer answer) {
              scene_->show(std::move(answer.model), answer.words);
              if (scene_->model())
                canvas_->setMinimumHeight(static_cast<int>(knobs_size(*scene_->model()).height));
              canvas_->refresh();
            });
}

}  // namespace trainyard
