#include "app/desktop/analyse/efficiency_sheet.h"

#include <QLabel>
#include <QPushButton>
#include <QTableView>
#include <QVBoxLayout>

#include "app/desktop/controls/text.h"
#include "app/desktop/controls/widgets.h"
#include "app/desktop/tables/view_table.h"
#include "core/cost/engine_efficiency.h"

namespace trainyard {
namespace {

Item place_of(const std::string& device) {
  const std::vector<DeviceEfficiency> all = device_efficiencies();
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i].device->id == device) return {ItemKind::Cell, i};
  return {};
}

QStringList tabs_of(const std::vector<EfficiencyTable>& tables) {
  QStringList tabs;
  for (const EfficiencyTable& one : tables) tabs << q(one.tab);
  return tabs;
}

}  // namespace

EfficiencySheet::EfficiencySheet(const std::string& device, QWidget* parent)
    : QDialog(parent),
      tables_(efficiency_tables()),
      own_(place_of(device)),
      which_(new Segment("Which efficiency is listed", tabs_of(tables_))),
      source_(make_label("", 12, QFont::Normal, "second")),
      rows_(new ViewTable) {
  setAttribute(Qt::WA_DeleteOnClose);
  setWindowTitle("Efficiency of devices");
  setMinimumSize(760, 520);
  resize(980, 560);
  auto* column = new QVBoxLayout(this);
  column->setSpacing(8);
  column->addWidget(which_, 0, Qt::AlignLeft);
  rows_->set_closable(false);
  rows_->rows()->setAccessibleName("Efficiencies");
  column->addWidget(rows_, 1);
  source_->setTextFormat(Qt::PlainText);
  source_->setWordWrap(true);
  source_->setAccessibleName("Where the figures are from");
  column->addWidget(source_);
  add_closing_row(this, column);
  connect(which_, &Segment::chosen, this, &EfficiencySheet::show_table);
  which_->set_current(0);
  show_table(0);
}

void EfficiencySheet::show_table(int index) {
  const EfficiencyTable& shown = tables_[static_cast<std::size_t>(index)];
  rows_->show_table(shown.table);
  rows_->choose(index == 0 ? own_ : Item{});
  source_->setText(q(shown.source));
}

}  // namespace trainyard
