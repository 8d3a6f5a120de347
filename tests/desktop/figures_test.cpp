// Every name has a single figure: what the window shows about a project, on every tab, in every
// tooltip, table and picture, is compared with what the command line prints for the same plan, name
// by name, to the last digit. It fails on each of these: the verdict's or the project panel's
// shares of the critical device alone ("bubble" 13.3 and 24.6 %), busy shares in whole percents
// beside tenths, a step with a digit less, a verdict with a word of its own.
#include <gtest/gtest.h>

#include <QAbstractButton>
#include <QAction>
#include <QClipboard>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QTabBar>
#include <QTableWidget>
#include <QTreeWidget>
#include <algorithm>

#include "app/desktop/analyse/analyse_page.h"
#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/controls/page.h"
#include "app/desktop/design/strategy_row.h"
#include "app/desktop/design/verdict_bar.h"
#include "app/desktop/planner/tune_page.h"
#include "app/desktop/shell/perspective.h"
#include "core/methods/settings/settings.h"
#include "tests/app/run_program.h"
#include "tests/desktop/said.h"
#include "tests/desktop/support.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

struct OpenProject {
  const char* name;
  const char* model;
  const char* cluster;
  std::vector<std::string> settings;
};

void PrintTo(const OpenProject& p, std::ostream* out) { *out << p.name; }

// Returns whether a text consists of a single figure.
bool is_bare(const std::string& text) {
  static const std::regex figure("[-+]?\\d+(\\.\\d+)? ?[%a-z/$]+( \\(.*\\))?");
  return std::regex_match(plain(text), figure);
}

class Listener {
 public:
  explicit Listener(Window& window) : window_(window) {}

  void hear(const std::string& tab) {
    tab_ = tab;
    hear_labels();
    hear_tables();
    for (const QTabBar* bar : window_.findChildren<QTabBar*>())
      if (bar->isVisible())
        for (int i = 0; i < bar->count(); ++i) add(bar->tabText(i).toStdString(), "", "tabs");
    for (CanvasWidget* canvas : window_.findChildren<CanvasWidget*>())
      if (canvas->isVisible() && canvas->drawing() != nullptr) hear_canvas(*canvas);
    const Page* page = shown_page();
    if (page == nullptr) return;
    if (const auto table = page->table()) hear_rows(*table);
  }

  // Of the comparison of schedules, collects only what concerns the plan as it stands.
  void hear_schedules(const std::string& schedule) {
    tab_ = "schedules";
    const Page* page = shown_page();
    const auto table = page == nullptr ? std::nullopt : page->table();
    if (!table) return;  // the page says why nothing is compared
    const auto words = [&](const char* column, std::size_t row) {
      for (std::size_t c = 0; c < table->columns.size(); ++c)
        if (table->columns[c].name == column)
          return cell_text(table->columns[c], table->cell(row, c));
      return std::string("no such column");
    };
    for (std::size_t r = 0; r < table->rows; ++r)
      if (words("schedule", r) == schedule && words("changed", r).empty()) {
        for (const char* name : {"step", "memory of the fullest device"})
          add(name + (" " + words(name, r)), "", "comparison");
      }
  }

  std::vector<Said> said;

 private:
  void add(const std::string& text, const std::string& of, const std::string& place) {
    if (!heard_.insert({text, of, place}).second) return;
    add_said(said, text, of, tab_ + " " + place);
  }

  const Page* shown_page() const {
    for (const Page* page : window_.pages())
      if (page->isVisible()) return page;
    return nullptr;
  }

  // A label that is only a figure belongs to the label before it; what stands in the row of a
  // setting is about that setting, whose neighbours may bear the same word as another's.
  void hear_labels() {
    std::string before;
    for (const QWidget* widget : window_.findChildren<QWidget*>()) {
      if (!widget->isVisible()) continue;
      const std::string place = widget->accessibleName().toStdString();
      add(widget->toolTip().toStdString(), "", place + " tip");
      add(widget->accessibleDescription().toStdString(), "", place + " description");
      QString text;
      if (const auto* label = qobject_cast<const QLabel*>(widget)) text = label->text();
      if (const auto* button = qobject_cast<const QAbstractButton*>(widget)) text = button->text();
      if (text.isEmpty()) continue;
      const std::string words = text.toStdString();
      const auto* row = qobject_cast<const StrategyRow*>(widget->parentWidget());
      add(is_bare(words) ? before + " " + words : words,
          row == nullptr ? "" : row->key().toStdString(), place + " label");
      before = words;
    }
  }

  void hear_tables() {
    for (const QTreeWidget* tree : window_.findChildren<QTreeWidget*>()) {
      if (!tree->isVisible()) continue;
      const std::string place = tree->accessibleName().toStdString();
      for (int i = 0; i < tree->topLevelItemCount(); ++i)
        hear_item(*tree, *tree->topLevelItem(i), place);
    }
    for (const QTableWidget* table : window_.findChildren<QTableWidget*>()) {
      if (!table->isVisible() || table->columnCount() != 2) continue;
      for (int row = 0; row < table->rowCount(); ++row)
        if (table->item(row, 0) != nullptr && table->item(row, 1) != nullptr)
          add(table->item(row, 0)->text().toStdString() + " " +
                  table->item(row, 1)->text().toStdString(),
              "selected", table->accessibleName().toStdString());
    }
  }

  void hear_item(const QTreeWidget& tree, const QTreeWidgetItem& item, const std::string& place) {
    std::string first = item.text(0).toStdString();
    for (int c = 1; c < tree.columnCount(); ++c)
      if (const std::string text = item.text(c).toStdString(); !text.empty() && !is_bare(text))
        first += " " + text;
    for (int c = 0; c < tree.columnCount(); ++c) {
      const std::string text = item.text(c).toStdString();
      add(item.toolTip(c).toStdString(), place + ": " + first, place + " tip");
      if (text.empty()) continue;
      const std::string head = tree.headerItem()->text(c).toStdString();
      const bool bare = is_bare(text);
      add(bare ? head + " " + text : text, bare ? thing_of(first, place) : "", place);
    }
    for (int i = 0; i < item.childCount(); ++i) hear_item(tree, *item.child(i), place);
  }

  // A row about a device is about the same device in every table; any other row belongs to its own
  // table.
  static std::string thing_of(const std::string& row, const std::string& place) {
    const std::string thing = one_thing(plain(row));
    return thing.rfind("rank ", 0) == 0 ? thing : place + ": " + thing;
  }

  // Labels of one height are a row, which may begin with a device's name; a label that is a figure
  // alone belongs to the words to the left of it.
  void hear_canvas(CanvasWidget& canvas) {
    const std::string place = canvas.accessibleName().toStdString();
    add(canvas.scene().description().toStdString(), "", place + " description");
    std::map<int, std::vector<const Label*>> rows;
    for (const Label& label : canvas.drawing()->labels)
      rows[static_cast<int>(std::lround(label.at.y))].push_back(&label);
    for (auto& [y, row] : rows) {
      std::stable_sort(row.begin(), row.end(),
                       [](const Label* a, const Label* b) { return a->at.x < b->at.x; });
      std::string of;
      for (const Label* label : row) {
        const std::string thing = one_thing(plain(label->text));
        if (thing.rfind("rank ", 0) == 0) of = thing;
        // The share beside a device's name is how busy it is.
        const bool bare = is_bare(label->text), share = bare && label->text.ends_with("%");
        if (!bare) add(label->text, of, place);
        if (share && !of.empty()) add("busy " + label->text, of, place);
      }
    }
    hear_tips(canvas, place);
  }

  void hear_tips(CanvasWidget& canvas, const std::string& place) {
    std::set<QString> tips;
    for (int y = 2; y < canvas.height(); y += 11)
      for (int x = 2; x < canvas.width(); x += 23)
        tips.insert(canvas.scene().tooltip({static_cast<float>(x), static_cast<float>(y)}));
    for (const QString& tip : tips) {
      const std::string text = plain(tip.toStdString());
      const std::string head = text.substr(0, text.find('\n'));
      const std::string title = head.substr(0, head.find("  "));
      // Pictures with a time axis show different figures at every instant.
      static const std::regex instant("\\d (ns|us|ms|s)\\b");
      const std::string thing = one_thing(title);
      const bool whole = thing != title;
      if (text.size() > head.size() && !std::regex_search(whole ? text : head, instant))
        add(text.substr(head.size() + 1), whole ? thing : place + ": " + head, place + " tip");
    }
  }

  void hear_rows(const DataTable& table) {
    constexpr std::size_t kMost = 400;
    for (std::size_t r = 0; r < std::min(table.rows, kMost); ++r) {
      std::string row = table.title + " row " + std::to_string(r);
      for (std::size_t c = 0; c < table.columns.size(); ++c)
        if (const DataUnit unit = table.columns[c].unit;
            unit == DataUnit::Words || unit == DataUnit::Count)
          row += " " + table.columns[c].name + " " + cell_text(table.columns[c], table.cell(r, c));
      for (std::size_t c = 0; c < table.columns.size(); ++c)
        if (const DataUnit unit = table.columns[c].unit;
            unit != DataUnit::Words && unit != DataUnit::Count)
          add(table.columns[c].name + " " + cell_text(table.columns[c], table.cell(r, c)), row,
              "table " + table.title);
    }
  }

  Window& window_;
  std::string tab_;
  std::set<std::tuple<std::string, std::string, std::string>> heard_;
};

// Collects what the command line prints about the plan; returns its first line. Indented lines
// belong to what the last unindented line names.
std::string hear_program(std::vector<Said>& said, const std::string& verb,
                         const OpenProject& project, const TemporaryFolder& folder) {
  std::vector<std::string> words = {verb, "--model", project.model, "--cluster", project.cluster};
  for (const std::string& setting : project.settings) {
    words.emplace_back("--set");
    words.push_back(setting);
  }
  const Ran ran = run_program(TRAINYARD_PROGRAM, words, folder.path());
  EXPECT_TRUE(ran.exit == 0 || ran.exit == 3) << ran.err;
  std::string head, line;
  for (std::istringstream lines(ran.out); std::getline(lines, line);) {
    const bool inner = line.rfind("  ", 0) == 0;
    if (!inner) head = plain(line);
    std::smatch device;
    static const std::regex of_device("critical device \\d+");
    std::string of = inner ? head : "";
    if (inner && std::regex_search(head, device, of_device)) of = one_thing(device.str());
    if (const std::size_t first = line.find_first_not_of(' '); first != std::string::npos)
      add_said(said, line.substr(first), of, "trainyard " + verb);
  }
  return plain(ran.out.substr(0, ran.out.find('\n')));
}

// These views are about other plans (scaling: on other numbers of devices), trainings that fail,
// published rows or lessons.
const std::set<std::string> kOfOtherPlans = {"schedules", "scaling",   "published", "learn",
                                             "links",     "calibrate", "runs",      "goodput"};

class OneFigure : public ::testing::TestWithParam<OpenProject> {};

TEST_P(OneFigure, StandsUnderOneName) {
  const OpenProject& project = GetParam();
  const TemporaryFolder folder;
  const auto window = window_with({project.model, project.cluster, "", project.settings});
  ASSERT_NE(window->session().experiment(), nullptr);
  Listener listener(*window);
  for (const Perspective& p : testing::non_empty(perspectives())) {
    if (kOfOtherPlans.count(p.id) != 0) continue;
    window->actions_of()[QString("view.") + p.id]->trigger();
    std::vector<const char*> tabs(p.tabs.begin(), p.tabs.end());
    if (tabs.empty()) tabs.push_back("");
    for (const char* tab : testing::non_empty(tabs)) {
      if (kOfOtherPlans.count(tab) != 0) continue;
      if (*tab != 0) window->actions_of()[QString("view.") + tab]->trigger();
      ASSERT_TRUE(happens([&] { return window->settled(); })) << p.id << " " << tab;
      listener.hear(*tab != 0 ? tab : p.id);
    }
  }
  window->actions_of()["view.schedules"]->trigger();
  ASSERT_TRUE(happens([&] { return window->settled(); }));
  listener.hear_schedules(
      setting(window->session().experiment()->workload.scenario.plan, "schedule"));
  const std::string first_line = hear_program(listener.said, "simulate", project, folder);
  // The word of the verdict, which the program's first line begins with.
  const std::string verdict =
      plain(window->findChild<VerdictBar*>()->accessibleDescription().toStdString());
  const std::string word(to_string(window->session().experiment()->result.verdict.word));
  EXPECT_EQ(verdict.rfind(word, 0), 0U) << verdict;
  EXPECT_EQ(first_line.rfind(word, 0), 0U) << first_line;
  for (const std::string& line : contradictions(listener.said)) ADD_FAILURE() << line;
}

const OpenProject kProjects[] = {
    {"dense", "llama-3-8b", "h100-sxm:8", {"tp=2", "global-batch=16"}},
    {"routed", "mixtral-8x7b", "h100-sxm:16", {"ep=8", "tp=2", "global-batch=32"}},
    {"pipeline", "llama-3-8b", "h100-sxm:8", {"tp=2", "pp=4", "global-batch=16"}},
    {"zero3", "llama-3-8b", "h100-sxm:8", {"zero=3", "global-batch=16"}},
    {"asynchronous",
     "llama-3-8b",
     "h100-sxm:8",
     {"tp=2", "pp=4", "schedule=pipedream-2bw", "global-batch=16"}},
    {"waves", "gpt-tiny", "h100-sxm:1", {"schedule=tick-tock", "global-batch=4"}},
    {"offload", "llama-3-8b", "h100-sxm:8", {"pp=2", "offload=optimizer", "global-batch=16"}},
    {"too-large", "llama-3-70b", "h100-sxm:8", {"tp=8", "global-batch=8"}},
    {"one-device", "gpt-tiny", "h100-sxm:1", {"global-batch=8"}},
    {"local", "gpt-tiny", "cpu-small:2", {"pp=2", "global-batch=8"}}};

INSTANTIATE_TEST_SUITE_P(TenProjects, OneFigure, ::testing::ValuesIn(kProjects),
                         [](const auto& project) {
                           std::string name = project.param.name;
                           name.erase(std::remove(name.begin(), name.end(), '-'), name.end());
                           return name;
                         });

// The command that the tab Tune copies is run as it stands, and prints the document that the tab
// saves and the figures that it shows.
TEST(TunedFigures, AreThoseOfTheCommandThatIsCopied) {
  const TemporaryFolder folder;
  const auto window = window_with(small_plan());
  window->actions_of()["view.tune"]->trigger();
  TunePage& page = window->findChild<AnalysePage*>()->tune();
  for (const auto& [list, word] :
       {std::pair("settings to try", "micro-batch=1..8"), std::pair("settings to try", "tp=1,2,4"),
        std::pair("families of settings", "recompute=none,full")}) {
    auto* field = named<QLineEdit>(page, QString("Add to ") + list);
    field->setText(word);
    press(field, Qt::Key_Return);
    QApplication::processEvents();
  }
  page.start();
  ASSERT_TRUE(happens([&] { return window->settled(); }));
  named<QPushButton>(page, "Copy the command line of the tuning")->click();
  std::vector<std::string> words = split_words(QApplication::clipboard()->text().toStdString());
  ASSERT_GT(words.size(), 2U);
  EXPECT_EQ(words.front(), "trainyard");
  words.front() = words[1], words[1] = "--quiet";
  const Ran shown = run_program(TRAINYARD_PROGRAM, words, folder.path());
  words.emplace_back("--json");
  const Ran saved = run_program(TRAINYARD_PROGRAM, words, folder.path());
  EXPECT_EQ(saved.exit, 0) << saved.err;
  EXPECT_EQ(saved.out, *page.document());
  // Each row of the table has the cells of a line that the program prints.
  const DataTable table = *page.table();
  std::istringstream lines(shown.out);
  std::string line;
  for (int head = 0; head < 3; ++head) std::getline(lines, line);
  for (std::size_t row = 0; row < table.rows; ++row) {
    std::getline(lines, line);
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      const DataColumn& column = table.columns[c];
      if (column.unit == DataUnit::StepTime || column.unit == DataUnit::Time) {
        const std::string cell = cell_text(column, table.cell(row, c));
        EXPECT_NE(line.find(cell.empty() ? "-" : cell), std::string::npos) << cell << ": " << line;
      }
    }
  }
}

}  // namespace
}  // namespace trainyard
