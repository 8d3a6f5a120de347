#include "app/desktop/perspective.h"

#include "app/desktop/analyse_page.h"
#include "app/desktop/calibrate_page.h"
#include "app/desktop/compare_perspective.h"
#include "app/desktop/design_page.h"
#include "app/desktop/learn_page.h"
#include "app/desktop/theme.h"
#include "app/desktop/window.h"

namespace trainyard {
namespace {

constexpr DockSizes kDesignDocks{.left = kLeftDock, .right = kRightDockDesign, .strategy = 700};
constexpr DockSizes kAnalyseDocks{.left = kLeftDock,
                                  .right = kRightDock,
                                  .inspector = 300,
                                  .strategy = 400,
                                  .bottom = kBottomDock};

constexpr Perspective kPerspectives[] = {
    {"design",
     "Design",
     "Ctrl+1",
     "Shows model, cluster and strategy.",
     kDesignDocks,
     {},
     true,
     [](Window& w) -> Page* { return new DesignPage(w.document(), w.session()); }},
    {"analyse", "Analyse", "Ctrl+2", "Shows timeline, memory, roofline and every plan of a space.",
     kAnalyseDocks, kAnalyseTabs, true,
     [](Window& w) -> Page* { return new AnalysePage(w.document(), w.session(), w.training()); }},
    {"compare",
     "Compare",
     "Ctrl+3",
     "Shows any two results over each other, and the list of past runs.",
     {},
     kCompareTabs,
     false,
     [](Window& w) -> Page* { return new ComparePerspective(w); }},
    {"calibrate",
     "Calibrate",
     "Ctrl+4",
     "Shows what was measured beside what is predicted of it.",
     {},
     kCalibrateTabs,
     false,
     [](Window& w) -> Page* {
       return new CalibratePage(w.document(), w.published(), w.session());
     }},
    {"learn",
     "Learn",
     "Ctrl+5",
     "Shows lessons that ask before they show.",
     {},
     {},
     false,
     [](Window& window) -> Page* { return new LearnPage(&window.training()); }},
};

QString in_words(QStringList names) {
  const QString last = names.takeLast();
  return names.isEmpty() ? last : names.join(", ") + " or " + last;
}

}  // namespace

std::span<const Perspective> perspectives() { return kPerspectives; }

const Perspective* find_perspective(const QString& id) {
  for (const Perspective& perspective : kPerspectives)
    if (id == perspective.id) return &perspective;
  return nullptr;
}

const Perspective* perspective_of_tab(const QString& tab) {
  for (const Perspective& perspective : kPerspectives)
    for (const char* name : perspective.tabs)
      if (tab == name) return &perspective;
  return nullptr;
}

QString perspective_names() {
  QStringList names;
  for (const Perspective& perspective : kPerspectives) names << perspective.id;
  return in_words(names);
}

QString tab_names() {
  QStringList names;
  for (const Perspective& perspective : kPerspectives)
    for (const char* name : perspective.tabs) names << name;
  return in_words(names);
}

}  // namespace trainyard
