// The small controls of the forms: a flat combo box, a stepper, a row of exclusive buttons, chips
// and key caps.
#pragma once

#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QWidget>
#include <utility>

class QButtonGroup;
class QDialog;
class QDialogButtonBox;
class QHBoxLayout;
class QVBoxLayout;
class QToolButton;

namespace trainyard {

/// A combo box with the frame of a field and a chevron.
class Field : public QComboBox {
  Q_OBJECT

 public:
  explicit Field(const QString& accessible_name, QWidget* parent = nullptr);

 protected:
  void paintEvent(QPaintEvent*) override;
  void wheelEvent(QWheelEvent*) override;  // ignored: scrolling a form must not change values
};

/// A control "− value +". Its owner decides what one step is; typed text is committed by Enter or
/// when the focus leaves.
class Stepper : public QWidget {
  Q_OBJECT

 public:
  explicit Stepper(const QString& accessible_name, QWidget* parent = nullptr);
  void set_value(const QString&);
  QString value() const;
  /// The width at which a stepper shows this text whole.
  static int width_for(const QString&);
  /// Sets which buttons are enabled; a tooltip gives the reason or the resulting value.
  void set_steps(bool down, bool up);

 Q_SIGNALS:
  void stepped(int direction);  // -1 or +1
  void entered(const QString&);

 private:
  void commit();
  QLineEdit* edit_;
  QToolButton* minus_;
  QToolButton* plus_;
  QString shown_;
};

/// A row of buttons of which exactly one is down.
class Segment : public QWidget {
  Q_OBJECT

 public:
  Segment(const QString& accessible_name, const QStringList& words, QWidget* parent = nullptr);
  void set_current(int index);
  int current() const;

 Q_SIGNALS:
  void chosen(int index);

 private:
  QButtonGroup* group_;
};

/// A short text on a tinted ground. tone: "plain", "ok", "warn", "error".
QLabel* make_chip(const QString& text, const char* tone);
void set_tone(QWidget*, const char* tone);
/// A label; tone: "", "second", "third", "ok", "warn", "error".
QLabel* make_label(const QString& text, double pixels, QFont::Weight, const char* tone = "");
QLabel* make_key(const QString& text);
/// One line of plain text, cut with an ellipsis if it does not fit; the tooltip has the whole text.
class ElidedLabel : public QLabel {
  Q_OBJECT

 public:
  ElidedLabel(double pixels, const char* tone);
  QSize minimumSizeHint() const override { return {0, 0}; }

 protected:
  bool event(QEvent*) override;
  void paintEvent(QPaintEvent*) override;
};

/// A bar of 28 px with a bold title at the left; widgets at the right go into `row`. It also serves
/// as the title of a dock, which reads the size hint.
class Header : public QWidget {
  Q_OBJECT

 public:
  explicit Header(const QString& title);
  QHBoxLayout* row() const { return row_; }
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override { return {40, sizeHint().height()}; }

 private:
  QHBoxLayout* row_;
};
/// Adds a bar of the height of a Header to the column, and returns the row that its parts go into.
QHBoxLayout* add_bar(QVBoxLayout* column);
/// A panel of a fixed width, and the column that its parts go into.
std::pair<QWidget*, QVBoxLayout*> make_panel(int width, int spacing);
/// Adds a row of buttons to the column of a dialog, with Close in it, which ends the dialog.
/// Returns the row, for further buttons.
QDialogButtonBox* add_closing_row(QDialog*, QVBoxLayout* column);
/// A vertical line between groups of a bar.
QWidget* make_rule(int height);

}  // namespace trainyard
