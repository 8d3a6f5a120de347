#include "app/desktop/compare_perspective.h"

#include <QAction>

#include <utility>

#include "app/desktop/planner_page.h"
#include "app/desktop/window.h"

namespace trainyard {
namespace {

// The plan that is chosen among those searched.
std::optional<Scenario> found_plan(Window& window) {
  PlannerPage& planner = window.planner();
  const auto findings = planner.planning().findings();
  if (findings == nullptr || !planner.chosen()) return std::nullopt;
  return findings->space->scenario(*planner.chosen());
}

}  // namespace

ComparePerspective::ComparePerspective(Window& window, QWidget* parent)
    : TabPage("Comparisons", parent),
      document_(window.document()),
      comparison_(new ComparePage(window.document(), window.runs(),
                                  [&window] { return found_plan(window); })),
      runs_(new RunsPage(window.runs())) {
  add("Comparison", comparison_);
  add("Runs", runs_);
  connect(runs_, &RunsPage::compare, this, &ComparePerspective::compare_run);
}

void ComparePerspective::compare_run(qint64 id) {
  const ProjectPlan* plan = document_.plan();
  document_.show_perspective("compare", "comparison");
  if (plan != nullptr)
    comparison_->compare("plan:" + QString::fromStdString(plan->name), QString("run:%1").arg(id));
}

ComparePerspective* compare_perspective(const Window& window) {
  for (Page* page : window.pages())
    if (auto* found = qobject_cast<ComparePerspective*>(page)) return found;
  return nullptr;
}

void keep_run(const TrainingSession& session, RunList& runs, RunList::Heard heard) {
  const auto& report = session.report();
  if (report == nullptr || report->run.losses.empty()) return heard({});
  const TrainingWish& wish = session.wish();
  RunWords words{wish.request, {}, wish.request.calibration};
  for (const std::string& word : wish.training) apply_training(words.training, word);
  words.training.steps = wish.steps;
  runs.record(report, std::move(words), std::move(heard));
}

void connect_compare(Window& window) {
  ComparePerspective* perspective = compare_perspective(window);
  if (perspective == nullptr) return;
  ComparePage* page = &perspective->comparison();
  Actions& actions = window.actions_of();
  const auto on = [&](const char* id, auto run) {
    QObject::connect(actions[id], &QAction::triggered, page, run);
  };
  const auto show = [&window] { window.document().show_perspective("compare", "comparison"); };
  on("compare.swap", [=] { show(), page->swap(); });
  on("compare.link", [=](bool linked) { show(), page->set_linked(linked); });
  on("compare.deltas", [=](bool deltas) { show(), page->set_deltas_only(deltas); });
  on("compare.largest", [=] { show(), page->jump(0); });
  on("compare.adopt", [=] { page->adopt(); });
  on("compare.export", [=] { show(), page->export_dialog(); });
  on("compare.runs", [&window] { window.document().show_perspective("compare", "runs"); });
  const auto refresh = [page, link = actions["compare.link"], deltas = actions["compare.deltas"]] {
    link->setChecked(page->look().state.linked);
    deltas->setChecked(page->look().state.deltas_only);
  };
  QObject::connect(page, &ComparePage::toggled, page, refresh);
  refresh();
}

}  // namespace trainyard
