// Properties as a form: a row for each field with its control, unit and range; what is wrong with a
// value stands under its own field.
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
  QStringList words = {};  // where the value is one of a few
  bool fact = false;       // follows from the others: shown, not set
  QString group = {};      // a heading before the first row of a group
};

class FieldTable : public QScrollArea {
  Q_OBJECT

 public:
  explicit FieldTable(const QString& accessible_name, QWidget* parent = nullptr);
  /// Rows of the same keys in the same order keep their controls, and so the focus.
  void show_rows(const QList<FieldRow>&);
  /// Under the field; empty takes it back. What was typed stays, to be mended.
  void say(const QString& key, const QString& sentence);
  QWidget* control(const QString& key) const { return controls_.value(key); }
  QString said(const QString& key) const;

 Q_SIGNALS:
  void entered(const QString& key, const QString& value);

 private:
  void build(const QList<FieldRow>&);
  void add_row(QGridLayout*, int& at, const FieldRow&);
  void fill(const FieldRow&);
  QStringList shape_;  // what the rows are, value aside
  QHash<QString, QWidget*> controls_;
  QHash<QString, QLabel*> notes_, complaints_;
};

}  // namespace trainyard
