#include "app/desktop/analyse/numbers_page.h"

#include <QHBoxLayout>
#include <QVBoxLayout>

#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/controls/text.h"
#include "app/desktop/controls/widgets.h"
#include "app/desktop/scene/chart_scene.h"

namespace trainyard {

NumbersPage::NumbersPage(TrainingSession& training, QWidget* parent)
    : Page(parent),
      training_(training),
      which_(new Segment("What is drawn", {"Weights", "Gradients", "Activations",
                                           "Cancelled updates", "Loss scale"})) {
  setObjectName("page");
  setAttribute(Qt::WA_StyledBackground);
  auto scene = std::make_unique<ChartScene>(ChartOf<ShownNumbers>{
      [this]() -> const ShownNumbers* {
        const bool there = shown_.record && has_picture(*shown_.record, shown_.picture);
        return there ? &shown_ : nullptr;
      },
      [](Drawing& drawing, const Rect& area, const ShownNumbers& shown, const ViewState&) {
        draw_numbers(drawing, area, *shown.record, shown.picture);
      },
      [](const ShownNumbers& shown, Item item) {
        return describe_numbers(*shown.record, shown.picture, item);
      },
      [](const ShownNumbers& shown) { return q(numbers_words(*shown.record, shown.picture)); },
      [this] { return nothing(); }});
  scene_ = scene.get();
  canvas_ = new CanvasWidget("Numbers of the run in the formats of its plan", std::move(scene));
  auto* bar = new Header("Numbers of the run");
  bar->row()->addStretch(1);
  bar->row()->addWidget(which_);
  which_->set_current(static_cast<int>(shown_.picture));
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(bar);
  column->addWidget(canvas_, 1);
  setFocusProxy(canvas_);
  connect(which_, &Segment::chosen, this,
          [this](int index) { show_picture(static_cast<NumbersPicture>(index)); });
  connect(&training_, &TrainingSession::started, this, &NumbersPage::take);
  connect(&training_, &TrainingSession::finished, this, &NumbersPage::take);
}

void NumbersPage::show_picture(NumbersPicture picture) {
  shown_.picture = picture;
  which_->set_current(static_cast<int>(picture));
  scene_->select({});
  canvas_->refresh();
}

// A run that is under way still writes its record.
void NumbersPage::take() {
  const auto report = training_.report();
  shown_.record = training_.running() || report == nullptr ? nullptr : report->numbers;
  show_picture(shown_.picture);
}

QString NumbersPage::nothing() const {
  if (training_.running() && training_.wish().numbers > 0)
    return "The run counts its numbers; they are drawn once it ends.";
  if (!shown_.record)
    return "No run has watched its numbers yet. Ctrl R trains the plan; \"Watch numbers\" there "
           "counts exponents every so many updates.";
  switch (shown_.picture) {
    case NumbersPicture::Cancelled:
      return "Cancelled updates have a curve from two looks on.";
    case NumbersPicture::LossScale:
      return "The run scaled no losses.";
    default:
      return "The run had no such numbers.";
  }
}

std::optional<Drawing> NumbersPage::picture() const {
  return shown_.record ? std::optional(numbers_picture(*shown_.record)) : std::nullopt;
}

std::optional<DataTable> NumbersPage::table() const {
  return shown_.record ? std::optional(numbers_table(*shown_.record)) : std::nullopt;
}

}  // namespace trainyard
