#include <gtest/gtest.h>

#include <QApplication>
#include <QPalette>
#include <QSettings>
#include <QTemporaryDir>

#include "app/desktop/controls/icons.h"
#include "app/desktop/controls/theme.h"
#include "tests/desktop/editor.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

TEST(Theme, EveryNameOfTheSheetIsAColour) {
  for (const Theme theme : {Theme::Dark, Theme::Light}) {
    const QString sheet = style_sheet(theme);
    EXPECT_FALSE(sheet.contains('@'));
    EXPECT_FALSE(sheet.contains("#ff00ff"));
  }
}

TEST(Theme, SheetsDiffer) { EXPECT_NE(style_sheet(Theme::Dark), style_sheet(Theme::Light)); }

TEST(Theme, PaletteFollows) {
  auto& application = *static_cast<QApplication*>(QApplication::instance());
  for (const Theme theme : {Theme::Light, Theme::Dark}) {
    apply_theme(application, theme);
    EXPECT_EQ(current_theme(), theme);
    EXPECT_EQ(QApplication::palette().color(QPalette::Window), qcolor(Ink::Window, theme));
    EXPECT_EQ(system_theme(), theme);
  }
}

TEST(Icons, EachDrawsSomething) {
  for (const QString& name : testing::non_empty(icon_names())) {
    const QImage image = icon(name, Qt::white).pixmap(16, 16).toImage();
    bool drawn = false;
    for (int y = 0; y < image.height(); ++y)
      for (int x = 0; x < image.width(); ++x) drawn = drawn || qAlpha(image.pixel(x, y)) > 0;
    EXPECT_TRUE(drawn) << name.toStdString();
  }
}

}  // namespace
}  // namespace trainyard

int main(int argc, char** argv) {
  if (qEnvironmentVariableIsSet(trainyard::kEditorFolder)) {
    const QCoreApplication application(argc, argv);
    return trainyard::edit_until_killed(qEnvironmentVariable(trainyard::kEditorFolder));
  }
  testing::InitGoogleTest(&argc, argv);
  QApplication application(argc, argv);
  QApplication::setApplicationName("trainyard-tests");
  QApplication::setOrganizationName("trainyard");
  // The test neither reads nor changes the settings of the user or of programs that run at the same
  // time.
  const QTemporaryDir settings;
  QSettings::setDefaultFormat(QSettings::IniFormat);
  QSettings::setPath(QSettings::IniFormat, QSettings::UserScope, settings.path());
  trainyard::apply_theme(application, trainyard::Theme::Dark);
  return RUN_ALL_TESTS();
}
