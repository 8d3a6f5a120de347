// Tests checking a benchmark report in the window.
#include "app/desktop/dialogs/report_sheet.h"

#include <gtest/gtest.h>

#include "app/desktop/session/file_kind.h"
#include "core/io/documents/benchmark_report_json.h"
#include "tests/desktop/support.h"

namespace trainyard {
namespace {

TEST(ReportSheet, AReportThatIsOpenedListsItsFlawsWithWhatToDo) {
  const Folder folder;
  const std::string file = folder.file("rivals.json", shipped_report());
  EXPECT_EQ(file_kind(file), FileKind::Report);
  Window window;
  window.show();
  window.open_file(QString::fromStdString(file));
  const auto* sheet = window.findChild<ReportSheet*>();
  ASSERT_NE(sheet, nullptr);
  const std::vector<ReportFinding> findings =
      check_report(read_benchmark_report(shipped_report(), file));
  ASSERT_FALSE(findings.empty());
  EXPECT_TRUE(sheet->text().startsWith(
      QString("%1 flaws in rivals.json").arg(static_cast<int>(findings.size()))));
  for (const ReportFinding& found : findings) {
    EXPECT_TRUE(sheet->text().contains(QString::fromStdString(found.place)));
    EXPECT_TRUE(sheet->text().contains(QString::fromStdString(found.fix)));
  }
  EXPECT_TRUE(sheet->text().contains("Cherry-picked"));
}

TEST(ReportSheet, AReportWithoutAFlawIsSaidToBeOne) {
  Window window;
  ReportSheet* sheet = new ReportSheet({}, "/home/somebody/fair.json", &window);
  EXPECT_TRUE(sheet->text().startsWith("Every run, seed, trial")) << sheet->text().toStdString();
}

}  // namespace
}  // namespace trainyard
