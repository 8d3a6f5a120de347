// Which part of a large recording is to be read: what it spans, its steps, what it takes, and a
// range by the mouse, by keys or as two times. Nothing is read before somebody says so.
#pragma once

#include <QDialog>

#include <optional>

#include "core/io/traces/trace_extent.h"

class QLabel;
class QLineEdit;
class QPushButton;

namespace trainyard {

class CanvasWidget;
class RangeScene;

class RangeSheet : public QDialog {
  Q_OBJECT

 public:
  /// bytes: of the file as it lies.
  RangeSheet(const TraceExtent&, const QString& file, qint64 bytes, QWidget* parent);
  /// What was chosen; nothing: all of it.
  std::optional<TraceRange> range() const { return range_; }
  /// Why the times that were typed are no range; empty: they are one.
  QString refusal() const;
  /// All that the sheet says, as one text.
  QString text() const;

 protected:
  // Enter and Escape mean the sheet, also while the strip has the keys.
  bool eventFilter(QObject*, QEvent*) override;

 private:
  void follow_strip();
  void follow_fields();
  void refresh();

  TraceExtent extent_;
  std::optional<TraceRange> range_;
  CanvasWidget* strip_;
  RangeScene* scene_;  // of the strip
  QLabel *about_, *refusal_, *cost_;
  QLineEdit *from_, *to_;
  QPushButton* read_;
};

}  // namespace trainyard
