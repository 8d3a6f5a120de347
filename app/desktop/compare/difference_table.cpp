#include "app/desktop/compare/difference_table.h"

#include <QHeaderView>
#include <QLabel>
#include <QTreeWidget>
#include <QVBoxLayout>

#include <utility>

#include "app/desktop/controls/text.h"
#include "app/desktop/controls/theme.h"
#include "app/desktop/controls/widgets.h"
#include "app/desktop/tables/table.h"
#include "app/workspace/scenario/published.h"
#include "app/workspace/scenario/workspace.h"
#include "core/base/error.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

QString added(Duration time) { return (time > Duration{} ? "+" : "") + q(format_duration(time)); }
QString added(Bytes bytes) { return (bytes > 0_B ? "+" : "") + q(format_bytes(bytes)); }

struct Differences {
  Difference difference;
  std::string error;
};

}  // namespace

DifferenceTable::DifferenceTable(Document& document, QWidget* parent)
    : QWidget(parent),
      document_(document),
      words_(make_label("", 12, QFont::Normal, "second")),
      table_(make_table("Difference to my plan", {"field", "mine", "published", "step", "peak"},
                        {96, 60, 60})) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(4);
  words_->setWordWrap(true);
  column->addWidget(words_, 0, Qt::AlignTop);
  column->addWidget(table_, 1);
  column->addStretch(0);
  table_->header()->setSectionResizeMode(0, QHeaderView::Interactive);
  for (const int c : {1, 2}) table_->header()->setSectionResizeMode(c, QHeaderView::Stretch);
  for (const int c : {3, 4}) table_->setColumnWidth(c, 70);
  clear();
}

void DifferenceTable::say(const QString& words) {
  table_->clear();
  table_->hide();
  words_->setText(words);
}

void DifferenceTable::clear() {
  work_.stop();
  say("Choose a row to see what lies between your plan and the published one.");
}

void DifferenceTable::compare_with(const Scenario& theirs) {
  const ProjectPlan* plan = document_.plan();
  if (plan == nullptr || document_.project().model.empty()) {
    work_.stop();
    return say("Open a model and a plan of your own to see what lies between them and this row.");
  }
  say("Pricing each field …");
  const Request mine{document_.project().model, document_.project().cluster, plan->file,
                     plan->settings};
  work_.ask(
      [mine, theirs](const std::stop_token&, const auto&) {
        Differences answer;
        try {
          answer.difference = difference(open(mine), theirs, estimated_cost);
        } catch (const Error& wrong) {
          answer.error = describe(wrong);
        } catch (const std::exception& wrong) {
          answer.error = std::string("the difference could not be priced: ") + wrong.what();
        }
        return answer;
      },
      [this](const Differences& answer) {
        answer.error.empty() ? show_difference(answer.difference) : say(q(answer.error));
      });
}

void DifferenceTable::show_difference(const Difference& found) {
  say("");
  table_->show();
  words_->setText(
      found.fields.empty()
          ? QString("Your plan is this one.")
          : QString("From your %1 and %2 per device to %3 and %4, each field on top of "
                    "those above it, by the closed form.")
                .arg(q(format_step_time(found.mine.step)), q(format_bytes(found.mine.peak)),
                     q(format_step_time(found.theirs.step)), q(format_bytes(found.theirs.peak))));
  for (const FieldDifference& field : found.fields) {
    auto* item = add_table_row(table_, {q(field.field), q(field.mine), q(field.theirs),
                                        added(field.step), added(field.peak)});
    for (int c = 0; c < 3; ++c) item->setToolTip(c, item->text(c));
  }
  if (found.fields.empty()) return;
  auto* whole =
      add_table_row(table_, {"together", "", "", added(found.theirs.step - found.mine.step),
                             added(found.theirs.peak - found.mine.peak)});
  for (int c = 0; c < 5; ++c) whole->setFont(c, ui_font(12, QFont::DemiBold));
}

}  // namespace trainyard
