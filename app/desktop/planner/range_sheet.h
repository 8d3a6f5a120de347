// A RangeSheet asks which part of a large recording to read: it shows its extent, its steps and the
// cost, and takes a range by mouse, by keys or as two times. Nothing is read before the user
// confirms.
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
  /// bytes: size of the file on disk.
  RangeSheet(const TraceExtent&, const QString& file, qint64 bytes, QWidget* parent);
  /// The chosen range; empty: the whole recording.
  std::optional<TraceRange> range() const { return range_; }
  /// Why the typed times are no valid range; empty if they are.
  QString refusal() const;
  /// The whole content of the sheet as one text.
  QString text() const;

 protected:
  // Enter and Escape go to the sheet even while the strip has the focus.
  bool eventFilter(QObject*, QEvent*) override;

 private:
  void follow_strip();
  void follow_fields();
  void refresh();

  TraceExtent extent_;
  std::optional<TraceRange> range_;
  CanvasWidget* strip_;
  RangeScene* scene_;  // owned by the strip
  QLabel *about_, *refusal_, *cost_;
  QLineEdit *from_, *to_;
  QPushButton* read_;
};

}  // namespace trainyard
