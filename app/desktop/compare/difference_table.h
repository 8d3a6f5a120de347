// What lies between the window's own plan and a published one, field by field, each with what it
// adds to step and peak; worked out on a thread of its own.
#pragma once

#include <QWidget>

#include "app/desktop/session/background.h"
#include "app/desktop/session/document.h"
#include "core/validation/difference.h"

class QLabel;
class QTreeWidget;

namespace trainyard {

class DifferenceTable : public QWidget {
  Q_OBJECT

 public:
  explicit DifferenceTable(Document&, QWidget* parent = nullptr);
  /// Between the document's current plan and this one.
  void compare_with(const Scenario&);
  void clear();
  bool running() const { return work_.running(); }

 private:
  void show_difference(const Difference&);
  void say(const QString&);

  Document& document_;
  QLabel* words_;
  QTreeWidget* table_;
  Background work_{this};  // last: it uses all of the above
};

}  // namespace trainyard
