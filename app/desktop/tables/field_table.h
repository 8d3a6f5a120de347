// A FieldTable shows properties as a form: one row per field with its control, unit and range; an
// error is shown under its own field.
#pragma once

#include <QHash>
#include <QScrollArea>
#include <QStringList>

class QGridLayout;
class QLabel;

namespace trainyard {

struct FieldRow {
  QString key, title, value;
  QString note;            // unit, range or source, beside the value
  QString doc;             // the tooltip
  QStringList words = {};  // if the value is one of a list
  bool fact = false;       // derived from the others: shown, but cannot be set
  QString group = {};      // a heading before the first row of a group
};

class FieldTable : public QScrollArea {
  Q_OBJECT

 public:
  explicit FieldTable(const QString& accessible_name, QWidget* parent = nullptr);
  /// If keys and order stay the same, rows keep their controls and thus the focus.
  void show_rows(const QList<FieldRow>&);
  /// Shows a sentence under the field; an empty one removes it. The typed text stays, to be
  /// corrected.
  void say(const QString& key, const QString& sentence);
  QWidget* control(const QString& key) const { return controls_.value(key); }
  QString said(const QString& key) const;

 Q_SIGNALS:
  void entered(const QString& key, const QString& value);

 private:
  void build(const QList<FieldRow>&);
  void add_row(QGridLayout*, int& at, const FieldRow&);
  void fill(const FieldRow&);
  QStringList shape_;  // the structure of the rows, without values
  QHash<QString, QWidget*> controls_;
  QHash<QString, QLabel*> notes_, complaints_;
};

}  // namespace trainyard
