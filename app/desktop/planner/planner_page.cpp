#include "app/desktop/planner/planner_page.h"

#include <QLabel>
#include <QSplitter>
#include <QVBoxLayout>

#include <algorithm>
#include <utility>

#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/controls/text.h"
#include "app/desktop/controls/theme.h"
#include "app/desktop/controls/widgets.h"
#include "app/desktop/planner/fate_list.h"
#include "app/desktop/planner/plan_table.h"
#include "app/desktop/planner/reason_panel.h"
#include "app/desktop/planner/space_panel.h"
#include "app/desktop/planner/strip_panel.h"
#include "app/desktop/scene/pareto_scene.h"
#include "app/workspace/plans/plan_points.h"
#include "core/base/error.h"
#include "core/methods/settings/settings.h"
#include "visualizers/plans/pareto_model.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

constexpr int kRight = 372;

// A knob with a single value that differs from the complete plan's, if it has an effect in that
// plan; "" if there is none.
std::string fixed_otherwise(const PlanSpace& space, const Plan& plan) {
  const Mesh& mesh = plan.mesh;
  const auto speaks = [&](std::string_view key) {
    if (key == "schedule" || key == "virtual-stages") return mesh.pp > 1;
    if (key == "etp" || key == "sequence-parallel" || key == "tensor-overlap") return mesh.tp > 1;
    if (key == "zero" || key == "overlap") return mesh.dp.value_or(1) > 1;
    return key == "tp" || key == "pp" || key == "cp" || key == "ep" || key == "micro-batch" ||
           key == "recompute" || key == "precision";
  };
  for (const Knob& knob : space.knobs()) {
    if (knob.values.size() > 1 || !speaks(knob.key)) continue;
    const std::string mine = setting(plan, knob.key);
    if (!mine.empty() && !knob.values.front().empty() && mine != knob.values.front())
      return knob.key + "=" + mine + " is not in the space, which has " + knob.values.front() +
             " only.";
  }
  return "";
}

// The point of a complete plan; if there is none, `why` receives the reason.
std::optional<PlanId> find_plan(const PlanSpace& space, const Plan& plan, std::string* why) {
  if (std::string other = fixed_otherwise(space, plan); !other.empty()) {
    if (why != nullptr) *why = std::move(other);
    return std::nullopt;
  }
  return space.find(plan, why);
}

// How the fate is drawn, if it is.
std::optional<ParetoFate> drawn(Fate fate) {
  switch (fate) {
    case Fate::Memory:
      return ParetoFate::TooLarge;
    case Fate::Dominated:
      return ParetoFate::Dominated;
    case Fate::Front:
      return ParetoFate::Front;
    case Fate::Best:
      return ParetoFate::Best;
    default:
      return std::nullopt;
  }
}

}  // namespace

PlannerPage::PlannerPage(Document& document, QWidget* parent) : Page(parent), document_(document) {
  setObjectName("page");
  setAttribute(Qt::WA_StyledBackground);
  space_ = new SpacePanel(document_, planning_);
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(1);
  row->addWidget(space_);
  row->addWidget(make_centre(), 1);
  row->addWidget(make_right());
  connect(space_, &SpacePanel::start, this, &PlannerPage::start);
  connect(space_, &SpacePanel::stop, this, &PlannerPage::stop);
  connect(space_, &SpacePanel::changed, this, &PlannerPage::refresh_state);
  connect(table_, &PlanTable::chosen, this, &PlannerPage::choose);
  connect(table_, &PlanTable::opened, this, &PlannerPage::open_chosen);
  connect(table_, &PlanTable::cleared, this, [this] {
    scene_->state().brush.reset();
    fates_->clear_choice();
    refresh_filter();
  });
  connect(fates_, &FateList::changed, this, &PlannerPage::refresh_filter);
  connect(reason_, &ReasonPanel::open_plan, this, &PlannerPage::open_chosen);
  connect(reason_, &ReasonPanel::ask_own, this, &PlannerPage::ask_own);
  connect(reason_, &ReasonPanel::mend, this, &PlannerPage::mend);
  connect(table_->strips(), &StripPanel::asked, this, &PlannerPage::mend);
  connect(&planning_, &Planning::changed, this, &PlannerPage::refresh);
  for (const auto signal : {&Document::changed, &Document::view_changed})
    connect(&document_, signal, this, [this] {
      if (isVisible()) refresh_document();
    });
  refresh();
}

QWidget* PlannerPage::make_centre() {
  auto* upper = new QWidget;
  auto* column = new QVBoxLayout(upper);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  auto* bar = new Header("Every plan");
  bar->setFixedHeight(32);
  state_ = make_label("", 11, QFont::Normal, "second");
  chip_ = make_chip("", "plain");
  chip_->setAccessibleName("Freshness of the search");
  const auto axis = [&](const char* name, int now) {
    auto* field = new Field(name);
    for (int a = 0; a < kParetoAxes; ++a)
      field->addItem(QStringList{"peak memory", "step time", "money", "tokens/s"}[a]);
    field->setCurrentIndex(now);
    field->setFixedSize(112, kFieldHeight);
    connect(field, &QComboBox::activated, this, &PlannerPage::set_axes);
    return field;
  };
  x_ = axis("Across", static_cast<int>(ParetoAxis::Memory));
  y_ = axis("Up", static_cast<int>(ParetoAxis::Step));
  bar->row()->addWidget(state_);
  bar->row()->addWidget(chip_);
  bar->row()->addWidget(make_label("x", 11, QFont::Normal, "third"));
  bar->row()->addWidget(x_);
  bar->row()->addWidget(make_label("y", 11, QFont::Normal, "third"));
  bar->row()->addWidget(y_);
  column->addWidget(bar);
  auto scene = std::make_unique<ParetoScene>(
      planning_, ParetoScene::Told{[this](PlanId id) { choose(id); }, [this] { refresh_filter(); },
                                   [this] { open_chosen(); }});
  scene_ = scene.get();
  canvas_ = new CanvasWidget("Step time against memory of plans", std::move(scene));
  canvas_->setMinimumHeight(220);
  column->addWidget(canvas_, 1);
  table_ = new PlanTable;
  auto* halves = new QSplitter(Qt::Vertical);
  halves->addWidget(upper);
  halves->addWidget(table_);
  halves->setSizes({500, 370});
  halves->setStretchFactor(0, 3);
  halves->setStretchFactor(1, 2);
  return halves;
}

QWidget* PlannerPage::make_right() {
  reason_ = new ReasonPanel(planning_);
  auto* fates = new QWidget;
  fates->setObjectName("panel");
  fates->setAttribute(Qt::WA_StyledBackground);
  auto* column = new QVBoxLayout(fates);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  auto* bar = new Header("Outcome of every plan");
  bar->row()->addWidget(make_label("click a row to filter", 11, QFont::Normal, "third"));
  column->addWidget(bar);
  fates_ = new FateList;
  column->addWidget(fates_, 1);
  auto* halves = new QSplitter(Qt::Vertical);
  halves->addWidget(reason_);
  halves->addWidget(fates);
  halves->setSizes({600, 250});
  halves->setStretchFactor(0, 1);
  halves->setStretchFactor(1, 0);
  halves->setFixedWidth(kRight);
  return halves;
}

QList<CanvasWidget*> PlannerPage::canvases() const {
  return {canvas_, table_->strips()->canvas(), reason_->canvas()};
}

bool PlannerPage::settled() const {
  return !planning_.running() && reason_->settled() && table_->strips()->settled();
}

void PlannerPage::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  refresh_document();
}

void PlannerPage::start() {
  const auto question = space_->question();
  if (!question) return;
  asked_ = space_->fingerprint();
  chosen_.reset();
  scene_->state().brush.reset();
  reason_->show_words("Searching", "A plan can be asked for when the search is done.");
  planning_.start(*question, space_->wish());
}

bool PlannerPage::stale() const {
  return planning_.findings() != nullptr && space_->fingerprint() != asked_;
}

bool PlannerPage::has_picture() const { return !scene_->model().points.empty(); }

std::optional<Drawing> PlannerPage::picture() const {
  if (!has_picture()) return std::nullopt;
  Drawing drawing(kParetoSize);
  draw_pareto(drawing, {0, 0, kParetoSize.width, kParetoSize.height}, scene_->model(),
              scene_->state());
  return drawing;
}

std::optional<DataTable> PlannerPage::table() const {
  if (!has_picture()) return std::nullopt;
  const std::shared_ptr<const PlanFindings> findings = planning_.findings();
  return pareto_table(scene_->model(), [&](std::uint64_t id) {
    std::string words;
    for (const std::string& word :
         findings ? findings->space->words(id) : std::vector<std::string>())
      words += (words.empty() ? "" : " ") + word;
    return words;
  });
}

void PlannerPage::set_axes() {
  ParetoState& state = scene_->state();
  state.x = static_cast<ParetoAxis>(x_->currentIndex());
  state.y = static_cast<ParetoAxis>(y_->currentIndex());
  if (has_picture()) {
    if (!has_axis(scene_->model(), state.x)) state.x = ParetoAxis::Memory;
    if (!has_axis(scene_->model(), state.y)) state.y = ParetoAxis::Step;
    x_->setCurrentIndex(static_cast<int>(state.x));
    y_->setCurrentIndex(static_cast<int>(state.y));
  }
  // A brush rectangle is meaningless on other axes.
  state.brush.reset();
  refresh_filter();
}

void PlannerPage::refresh() {
  const auto findings = planning_.findings();
  if (findings != shown_) {
    shown_ = findings;
    scene_->choose(std::nullopt);
    fates_->show_counts(findings == nullptr ? nullptr : &findings->result);
    table_->show_plans(findings);
    refresh_filter();
    refresh_document();
    if (findings != nullptr) {
      if (!findings->result.best.empty())
        choose(findings->result.best.front().id);
      else
        reason_->show_words("No plan fits",
                            "Choose a fate or a hollow point to see how far off it is.");
    }
  }
  if (findings == nullptr && !planning_.running())
    reason_->show_words("No plan is chosen", planning_.error().empty()
                                                 ? QString("Search first, then click any point.")
                                                 : QString());
  refresh_state();
  canvas_->refresh();
  Q_EMIT changed();
}

void PlannerPage::refresh_state() {
  const auto findings = planning_.findings();
  chip_->setVisible(planning_.running() || findings != nullptr || !planning_.error().empty());
  const auto say = [&](const QString& text, const char* tone) {
    chip_->setText(text);
    set_tone(chip_, tone);
  };
  if (planning_.running())
    say("searching", "plain");
  else if (!planning_.error().empty())
    say("not searched", "error");
  else if (stale())
    say("stale: the space changed", "warn");
  else if (findings != nullptr)
    say(findings->result.stopped ? "stopped early" : "fresh",
        findings->result.stopped ? "warn" : "ok");
  const ParetoModel& model = scene_->model();
  const auto best = best_of(model);
  // The time of the table: simulated, if the best plan was.
  const auto time = [&] {
    const bool known = findings != nullptr && !findings->result.best.empty();
    return known ? to_seconds(findings->result.best.front().time()) : model.points[*best].step;
  };
  state_->setText(best ? "best " + q(value_text(time(), ParetoAxis::Step)) + " at " +
                             q(value_text(model.points[*best].memory, ParetoAxis::Memory))
                       : QString());
}

void PlannerPage::refresh_document() {
  space_->refresh();
  std::vector<std::pair<std::string, PlanId>> letters;
  const ProjectPlan* plan = document_.plan();
  if (const auto id = own(); id && plan != nullptr)
    letters.emplace_back(plan->name.empty() ? "A" : plan->name.substr(0, 2), *id);
  scene_->set_letters(std::move(letters));
  refresh_state();
  canvas_->refresh();
}

void PlannerPage::refresh_filter() {
  PlanFilter filter;
  filter.brush = scene_->state();
  filter.fate = fates_->chosen();
  scene_->state().only = filter.fate ? drawn(*filter.fate) : std::nullopt;
  table_->filter(filter);
  table_->choose(chosen_);
  canvas_->refresh();
}

void PlannerPage::choose(PlanId id) {
  if (shown_ == nullptr) return;
  chosen_ = id;
  scene_->choose(id);
  table_->choose(id);
  const ProjectPlan* plan = document_.plan();
  const bool mine = own() == id && plan != nullptr;
  reason_->show_plan(id, mine ? q(plan->name) : QString());
  canvas_->refresh();
}

std::optional<PlanId> PlannerPage::own(std::string* why) const {
  const ProjectPlan* plan = document_.plan();
  if (shown_ == nullptr || plan == nullptr) return std::nullopt;
  try {
    Scenario scenario =
        open({document_.project().model, document_.project().cluster, plan->file, plan->settings});
    scenario.plan = complete(scenario);
    return find_plan(*shown_->space, scenario.plan, why);
  } catch (const Error& error) {
    if (why != nullptr) *why = describe(error);
    return std::nullopt;
  }
}

void PlannerPage::ask_own() {
  if (shown_ == nullptr) return;
  std::string why;
  if (const auto id = own(&why)) return choose(*id);
  chosen_.reset();
  scene_->choose(std::nullopt);
  table_->choose(std::nullopt);
  reason_->show_words("My plan is not among those searched", q(why));
  canvas_->refresh();
}

void PlannerPage::mend(const QString& words) {
  if (shown_ == nullptr || !chosen_) return;
  std::string why;
  try {
    Scenario scenario = shown_->space->scenario(*chosen_);
    const PlanSpace& space = *shown_->space;
    for (const QString& word : words.split(' ', Qt::SkipEmptyParts)) {
      apply_setting(scenario.plan, word.toStdString());
      const Setting* known = find_setting(word.section('=', 0, 0).toStdString());
      if (known == nullptr || space.knob(known->key) == space.knobs().size())
        throw Error(Error::Kind::InvalidInput, "it stays fixed in this search",
                    {word.section('=', 0, 0).toStdString()});
    }
    // Derived values follow from the new mesh.
    if (!words.contains("dp=")) scenario.plan.mesh.dp.reset();
    apply_setting(scenario.plan, "split", "even");
    scenario.plan = complete(scenario);
    if (const auto id = find_plan(space, scenario.plan, &why)) return choose(*id);
  } catch (const Error& error) {
    why = describe(error);
  }
  reason_->show_words("The plan with " + words + " is not among those searched", q(why));
}

void PlannerPage::open_chosen() {
  const ProjectPlan* plan = document_.plan();
  if (shown_ == nullptr || !chosen_ || plan == nullptr) return;
  const PlanSpace& space = *shown_->space;
  QStringList words;
  for (std::size_t k = 0; k < space.knobs().size(); ++k) {
    const Knob& knob = space.knobs()[k];
    if (knob.key == "devices") continue;
    const std::string& value = space.value(*chosen_, k);
    const std::string now = own_setting(*plan, knob.key);
    if (!value.empty() && value != now && (knob.values.size() > 1 || !now.empty()))
      words << q(knob.key + "=" + value);
  }
  // An order or a split made for another mesh would not be valid.
  if (!own_setting(*plan, "order").empty() || !plan->file.empty()) words << "order=own";
  // If layers do not divide, the search uses a split of its own.
  QString split;
  for (const std::string& word : space.words(*chosen_))
    if (word.starts_with("split=")) split = q(word);
  if (!split.isEmpty())
    words << split;
  else if (!own_setting(*plan, "split").empty() || !plan->file.empty())
    words << "split=even";
  if (!plan->file.empty() && !words.contains("dp=rest")) words << "dp=rest";
  document_.apply("Open plan " + q(plan_name(space, *chosen_)), words);
}

}  // namespace trainyard
