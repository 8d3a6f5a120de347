#include "app/desktop/design/tables_sheet.h"

#include <QDialogButtonBox>
#include <QLabel>
#include <QPushButton>
#include <QTableView>
#include <QVBoxLayout>

#include <memory>
#include <utility>

#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/controls/text.h"
#include "app/desktop/controls/widgets.h"
#include "app/desktop/scene/chart_scene.h"
#include "app/desktop/session/plan_words.h"
#include "app/desktop/tables/view_table.h"
#include "app/workspace/plans/table_trains.h"
#include "app/workspace/scenario/priced_scenario.h"
#include "core/base/error.h"

namespace trainyard {
namespace {

// A study of tables, or why there is none.
struct StudiedTables {
  std::optional<TableStudy> found;
  QString refused;
};

StudiedTables studied_tables(const Request& request, const std::stop_token& stop) {
  try {
    TableTrainsRequest asked;
    asked.scenario = open_priced(request).scenario;
    asked.cost = prices_of_plans(calibration_for(request.calibration, request.cluster));
    asked.stop = stop;
    return {study_table_trains(asked), {}};
  } catch (const Error& error) {
    return {std::nullopt, fault_sentence(error.place().text, error.what())};
  }
}

}  // namespace

TablesSheet::TablesSheet(const Request& request, QWidget* parent)
    : QDialog(parent),
      which_(new Segment("What is shown of the tables", {"Numbers", "Work", "Cache", "Tables"})),
      sentences_(make_label("Working it out …", 12, QFont::Normal)),
      rows_(new ViewTable) {
  setAttribute(Qt::WA_DeleteOnClose);
  setWindowTitle("Tables as tensor trains");
  setMinimumSize(860, 560);
  resize(1120, 720);
  auto* column = new QVBoxLayout(this);
  column->setSpacing(8);
  sentences_->setTextFormat(Qt::PlainText);
  sentences_->setWordWrap(true);
  sentences_->setAccessibleName("What follows from the tables");
  column->addWidget(sentences_);
  column->addWidget(which_, 0, Qt::AlignLeft);
  auto scene = std::make_unique<ChartScene>(ChartOf<TablesChart>{
      [this] { return study_ ? &chart_ : nullptr; }, draw_tables, describe_tables,
      [](const TablesChart& chart) { return q(tables_words(chart)); }, [] { return QString(); }});
  canvas_ = new CanvasWidget("Tables as tensor trains", std::move(scene));
  canvas_->setMinimumHeight(240);
  column->addWidget(canvas_, 3);
  rows_->set_closable(false);
  rows_->rows()->setAccessibleName("Rows behind the picture");
  column->addWidget(rows_, 2);
  apply_ =
      add_closing_row(this, column)->addButton("Set the best rank", QDialogButtonBox::ActionRole);
  apply_->setProperty("kind", "primary");
  apply_->setAccessibleName("Set the best rank");
  apply_->setToolTip(
      "Trains tables as cores of the largest rank that makes them 100 times smaller");
  apply_->setEnabled(false);
  connect(apply_, &QPushButton::clicked, this, &TablesSheet::apply_best);
  connect(which_, &Segment::chosen, this, &TablesSheet::show_picture);
  which_->set_current(0);
  work_.ask(
      [request](const std::stop_token& stop, auto&&) { return studied_tables(request, stop); },
      [this](const StudiedTables& answer) {
        if (answer.found) return show_study(*answer.found);
        sentences_->setText(answer.refused);
        canvas_->refresh();
      });
}

void TablesSheet::show_study(const TableStudy& found) {
  study_ = found;
  QStringList said;
  for (const std::string& sentence : table_study_sentences(found)) said << q(sentence);
  sentences_->setText(said.join(' '));
  apply_->setEnabled(found.best && !(found.best == found.rank && found.chosen));
  show_picture(0);
}

void TablesSheet::show_picture(int index) {
  which_->set_current(index);
  if (!study_) return;
  chart_ = tables_chart(*study_, static_cast<TablesPicture>(index));
  rows_->show_table(chart_.rows);
  rows_->fit_columns();
  canvas_->refresh();
}

void TablesSheet::apply_best() {
  if (!study_ || !study_->best) return;
  Q_EMIT apply(QString("tt-rank=%1").arg(*study_->best));
  accept();
}

}  // namespace trainyard
