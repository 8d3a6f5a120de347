// A TablesSheet shows what tensor trains make of the embedding tables of the open plan: numbers and
// FLOPs by rank, what a cache of hot rows serves, and the cores of each table, as pictures and as
// rows. It is worked out in the background; the best rank is set with one click.
#pragma once

#include <QDialog>

#include <optional>

#include "app/desktop/session/background.h"
#include "app/workspace/scenario/request.h"
#include "core/training/table_study.h"
#include "visualizers/memory/tables_view.h"

class QLabel;
class QPushButton;

namespace trainyard {

class CanvasWidget;
class Segment;
class ViewTable;

class TablesSheet : public QDialog {
  Q_OBJECT

 public:
  TablesSheet(const Request&, QWidget* parent);
  ViewTable& rows() const { return *rows_; }
  /// Null while it is being worked out, and where the plan is refused.
  const TableStudy* study() const { return study_ ? &*study_ : nullptr; }

 Q_SIGNALS:
  /// The settings of the best rank are to be set; the sheet closes.
  void apply(const QString& assignments);

 private:
  void show_picture(int index);
  void show_study(const TableStudy&);
  void apply_best();

  std::optional<TableStudy> study_;
  TablesChart chart_;
  Segment* which_;
  QLabel* sentences_;
  CanvasWidget* canvas_;
  ViewTable* rows_;
  QPushButton* apply_;
  Background work_{this};  // last, because it uses all members above
};

}  // namespace trainyard
