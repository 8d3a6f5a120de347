// Implements the window's commands for navigating a run.
#include <QAction>
#include <QInputDialog>

#include <utility>

#include "app/desktop/analyse/analyse_page.h"
#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/controls/search_bar.h"
#include "app/desktop/session/exploration.h"
#include "app/desktop/shell/window.h"

namespace trainyard {
namespace {

constexpr std::pair<const char*, StackBy> kStacks[] = {
    {"view.stack-category", StackBy::Category},
    {"view.stack-layer", StackBy::Layer},
    {"view.stack-microbatch", StackBy::Microbatch},
    {"view.stack-wave", StackBy::Wave}};

}  // namespace

void Window::connect_exploration() {
  Exploration& way = analyse_->exploration();
  const auto on = [this](const char* id, auto run) {
    connect(actions_[id], &QAction::triggered, this, run);
  };
  // The bar lies over the timeline, so the timeline is shown first.
  const auto look = [this] {
    document_.show_perspective("analyse");
    if (analyse_->whole()) analyse_->show_tab("timeline");
  };
  const auto note = [this, &way] {
    if (!way.can_mark()) return;
    bool agreed = false;
    const QString name =
        QInputDialog::getText(this, "Mark with a note", "Note", QLineEdit::Normal, {}, &agreed);
    if (agreed && !name.trimmed().isEmpty()) way.toggle_mark(name);
  };
  on("view.find", [this, look] { look(), analyse_->search_bar().find(); });
  on("view.find-next", [&way] { way.step_hit(+1); });
  on("view.find-previous", [&way] { way.step_hit(-1); });
  on("view.go-to", [this, look] { look(), analyse_->search_bar().go_to_time(); });
  on("view.back", [&way] { way.back(); });
  on("view.forward", [&way] { way.forward(); });
  on("view.mark", [&way] { way.toggle_mark(); });
  on("view.note", note);
  connect(&way, &Exploration::note_wanted, this, note);
  on("view.path", [&way](bool show) { way.set_critical_path(show); });
  on("view.phase", [&way](bool align) { way.set_by_phase(align); });
  on("view.every-rank", [&way](bool low) { way.set_every_rank(low); });
  for (const auto& stack : kStacks) {
    const StackBy by = stack.second;
    on(stack.first, [&way, by] { way.stack_by(by); });
  }
  const auto refresh = [this] {
    const ViewState& state = session_.state();
    for (const auto& stack : kStacks)
      actions_[stack.first]->setChecked(state.stack_by == stack.second);
    actions_["view.path"]->setChecked(state.critical_path);
    actions_["view.phase"]->setChecked(state.by_phase);
    actions_["view.every-rank"]->setChecked(state.every_rank);
  };
  connect(&way, &Exploration::switches_changed, this, refresh);
  connect(&session_, &Session::experiment_changed, this, refresh);
  refresh();
}

}  // namespace trainyard
