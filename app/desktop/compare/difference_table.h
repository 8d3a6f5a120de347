// A DifferenceTable shows the differences between the window's own plan and a published one, field
// by field, with the effect of each on step and peak; they are computed on a thread of their own.
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
  /// Compares the document's current plan with this one.
  void compare_with(const Scenario&);
  void clear();
  bool running() const { return work_.running(); }

 private:
  void show_difference(const Difference&);
  void say(const QString&);

  Document& document_;
  QLabel* words_;
  QTreeWidget* table_;
  Background work_{this};  // last, because it uses all members above
};

}  // namespace trainyard
