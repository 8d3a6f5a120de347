// Tests the tab Profile as a user would use it: choosing, profiling, stopping.
#include "app/desktop/calibrate/profile_page.h"

#include <gtest/gtest.h>

#include <QAction>
#include <QLabel>
#include <QLineEdit>
#include <QTableView>

#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/tables/view_table.h"
#include "tests/desktop/support.h"

namespace trainyard {
namespace {

struct ProfileTab {
  std::unique_ptr<Window> window = std::make_unique<Window>();
  ProfilePage* page;

  ProfileTab() {
    window->resize(1400, 900);
    window->show();
    window->document().show_perspective("calibrate", "profile");
    page = window->findChild<ProfilePage*>();
    type("Updates of a run", "2");
    type("Rounds", "1");
  }
  void type(const char* name, const QString& text) const {
    auto* field = named<QLineEdit>(*page, name);
    field->selectAll();
    field->insert(text);
    Q_EMIT field->textEdited(field->text());
  }
  void profile() const { window->actions_of()["calibrate.profile"]->trigger(); }
};

TEST(ProfilePage, ProfilesTheLearnerAndStops) {
  const ProfileTab tab;
  QAction* const stop = tab.window->actions_of()["calibrate.profile-stop"];
  EXPECT_FALSE(stop->isEnabled());
  EXPECT_EQ(tab.page->picture(), std::nullopt);
  tab.page->choose_learner(true);
  tab.type("Time between samples", "0s");
  tab.profile();
  EXPECT_FALSE(tab.page->measurement().running()) << "a wrong field profiles nothing";
  tab.type("Time between samples", "100us");
  tab.profile();
  EXPECT_TRUE(stop->isEnabled());
  ASSERT_TRUE(happens([&] { return tab.window->settled(); }));
  ASSERT_TRUE(tab.page->picture().has_value()) << tab.page->measurement().error();
  EXPECT_EQ(tab.page->table()->rows,
            static_cast<std::size_t>(tab.page->rows().rows()->model()->rowCount()));
  EXPECT_NE(tab.page->sentences().indexOf("Episodes last"), -1);
  tab.type("Rounds", "1000");
  tab.profile();
  stop->trigger();
  ASSERT_TRUE(happens([&] { return tab.window->settled(); }));
  EXPECT_TRUE(tab.page->picture().has_value()) << "the profile before stays";
}

TEST(ProfilePage, AsksForAModelWhereNoneIsOpen) {
  const ProfileTab tab;
  tab.window->document().clear();
  tab.page->choose_learner(false);
  tab.profile();
  EXPECT_FALSE(tab.page->measurement().running());
  EXPECT_EQ(tab.page->measurement().error(), "Open a model first, or profile the learner.");
}

}  // namespace
}  // namespace trainyard
