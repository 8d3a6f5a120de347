// An EfficiencySheet lists what devices compute for each watt, beside engines of a tutorial, and
// the energy of operations and memory accesses.
#pragma once

#include <QDialog>

#include <string>
#include <vector>

#include "visualizers/energy/efficiency_tables.h"

class QLabel;

namespace trainyard {

class Segment;
class ViewTable;

class EfficiencySheet : public QDialog {
  Q_OBJECT

 public:
  /// Selects the device of that id among those of the catalogue; none where it is not one of them.
  EfficiencySheet(const std::string& device, QWidget* parent);
  ViewTable& rows() const { return *rows_; }

 private:
  void show_table(int index);

  std::vector<EfficiencyTable> tables_;
  Item own_;  // of the device
  Segment* which_;
  QLabel* source_;
  ViewTable* rows_;
};

}  // namespace trainyard
