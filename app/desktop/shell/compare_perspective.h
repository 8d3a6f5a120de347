// The Compare perspective shows, in tabs, two results compared and the list of past runs.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>

#include "app/desktop/analyse/runs_page.h"
#include "app/desktop/compare/compare_page.h"
#include "app/desktop/controls/tab_page.h"

namespace trainyard {

class Actions;

/// The tabs by their names in lower case, as --tab takes them.
inline constexpr std::array<const char*, 2> kCompareTabs = {"comparison", "runs"};

class ComparePerspective : public TabPage {
  Q_OBJECT

 public:
  /// found: as in ComparePage.
  ComparePerspective(Document&, RunList&, std::function<std::optional<Scenario>()> found,
                     QWidget* parent = nullptr);

  ComparePage& comparison() { return *comparison_; }
  RunsPage& runs() { return *runs_; }
  bool whole() const override { return true; }
  bool own_verdict() const override { return true; }
  QWidget* tools() override { return comparison_->tools(); }
  /// Compares the past run with the open plan.
  void compare_run(qint64 id);
  /// Lets the commands "compare.*" act on this perspective.
  void connect_commands(const Actions&);

 private:
  Document& document_;
  ComparePage* comparison_;
  RunsPage* runs_;
};

/// The window's Compare perspective; null in a window without it.
ComparePerspective* compare_perspective(const QWidget& window);

}  // namespace trainyard
