#include "app/desktop/shell/perspective.h"

#include "app/desktop/analyse/analyse_page.h"
#include "app/desktop/calibrate/calibrate_page.h"
#include "app/desktop/controls/theme.h"
#include "app/desktop/shell/compare_perspective.h"

namespace trainyard {
namespace {

constexpr DockSizes kDesignDocks{.left = kLeftDock, .right = kRightDockDesign, .strategy = 700};
constexpr DockSizes kAnalyseDocks{.left = kLeftDock,
                                  .right = kRightDock,
                                  .inspector = 300,
                                  .strategy = 400,
                                  .bottom = kBottomDock};

QString in_words(QStringList names) {
  const QString last = names.takeLast();
  return names.isEmpty() ? last : names.join(", ") + " or " + last;
}

}  // namespace

std::span<const Perspective> perspectives() {
  static const Perspective all[] = {
      {"design", "Design", "Ctrl+1", "Shows model, cluster and strategy.", kDesignDocks, {}, true},
      {"analyse", "Analyse", "Ctrl+2",
       "Shows timeline, memory, roofline and every plan of a space.", kAnalyseDocks, analyse_tabs(),
       true},
      {"compare",
       "Compare",
       "Ctrl+3",
       "Shows any two results over each other, and the list of past runs.",
       {},
       kCompareTabs,
       false},
      {"calibrate",
       "Calibrate",
       "Ctrl+4",
       "Shows what was measured beside what is predicted of it.",
       {},
       kCalibrateTabs,
       false},
      {"learn", "Learn", "Ctrl+5", "Shows lessons that ask before they show.", {}, {}, false},
  };
  return all;
}

const Perspective* find_perspective(const QString& id) {
  for (const Perspective& perspective : perspectives())
    if (id == perspective.id) return &perspective;
  return nullptr;
}

const Perspective* perspective_of_tab(const QString& tab) {
  for (const Perspective& perspective : perspectives())
    for (const char* name : perspective.tabs)
      if (tab == name) return &perspective;
  return nullptr;
}

QString perspective_names() {
  QStringList names;
  for (const Perspective& perspective : perspectives()) names << perspective.id;
  return in_words(names);
}

QString tab_names() {
  QStringList names;
  for (const Perspective& perspective : perspectives())
    for (const char* name : perspective.tabs) names << name;
  return in_words(names);
}

}  // namespace trainyard
