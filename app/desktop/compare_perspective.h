// The Compare perspective: results over each other, and the list of past runs,
// as tabs.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "app/desktop/compare_page.h"
#include "app/desktop/runs_page.h"
#include "app/desktop/tab_page.h"

namespace trainyard {

class TrainingSession;
class Window;

/// The tabs by their names in lower case, as --tab takes them.
inline constexpr std::array<const char*, 2> kCompareTabs = {"comparison", "runs"};

class ComparePerspective : public TabPage {
  Q_OBJECT

 public:
  explicit ComparePerspective(Window&, QWidget* parent = nullptr);

  ComparePage& comparison() { return *comparison_; }
  RunsPage& runs() { return *runs_; }
  bool whole() const override { return true; }
  bool own_verdict() const override { return true; }
  QWidget* tools() override { return comparison_->tools(); }
  /// Shows the past run beside the open plan.
  void compare_run(qint64 id);

 private:
  Document& document_;
  ComparePage* comparison_;
  RunsPage* runs_;
};

/// The window's own; null in a window without that perspective.
ComparePerspective* compare_perspective(const Window&);
/// Records what the session has trained, where that came to anything; `heard` as RunList::record
/// has it.
void keep_run(const TrainingSession&, RunList&, RunList::Heard heard);
/// What the commands "compare.*" of the window do.
void connect_compare(Window&);

}  // namespace trainyard
