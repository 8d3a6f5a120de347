#include "app/desktop/shell/compare_perspective.h"

#include <QAction>

#include <utility>

#include "app/desktop/controls/actions.h"

namespace trainyard {

ComparePerspective::ComparePerspective(Document& document, RunList& runs,
                                       std::function<std::optional<Scenario>()> found,
                                       QWidget* parent)
    : TabPage("Comparisons", parent),
      document_(document),
      comparison_(new ComparePage(document, runs, std::move(found))),
      runs_(new RunsPage(runs)) {
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

void ComparePerspective::connect_commands(const Actions& actions) {
  ComparePage* page = comparison_;
  const auto on = [&](const char* id, auto run) {
    connect(actions[id], &QAction::triggered, page, run);
  };
  const auto show = [this] { document_.show_perspective("compare", "comparison"); };
  on("compare.swap", [=] { show(), page->swap(); });
  on("compare.link", [=](bool linked) { show(), page->set_linked(linked); });
  on("compare.deltas", [=](bool deltas) { show(), page->set_deltas_only(deltas); });
  on("compare.largest", [=] { show(), page->jump(0); });
  on("compare.adopt", [=] { page->adopt(); });
  on("compare.export", [=] { show(), page->export_dialog(); });
  on("compare.runs", [this] { document_.show_perspective("compare", "runs"); });
  const auto refresh = [page, link = actions["compare.link"], deltas = actions["compare.deltas"]] {
    link->setChecked(page->look().state.linked);
    deltas->setChecked(page->look().state.deltas_only);
  };
  connect(page, &ComparePage::toggled, page, refresh);
  refresh();
}

ComparePerspective* compare_perspective(const QWidget& window) {
  return window.findChild<ComparePerspective*>();
}

}  // namespace trainyard
