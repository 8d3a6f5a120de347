// Values as chips that are on or off, in as many lines as they need. One of them takes the Tab key,
// the arrows go from chip to chip.
#pragma once

#include <QStringList>
#include <QWidget>

class QToolButton;

namespace trainyard {

class ChipRow : public QWidget {
  Q_OBJECT

 public:
  explicit ChipRow(const QString& accessible_name, QWidget* parent = nullptr);

  /// own: the value of the open plan, which is marked; may be empty.
  void set_values(const QStringList& values, const QStringList& on, const QString& own);
  const QStringList& values() const { return values_; }
  /// In the order of values().
  QStringList on() const;
  bool hasHeightForWidth() const override { return true; }
  int heightForWidth(int width) const override { return lay_out(width, false); }
  QSize sizeHint() const override { return {180, heightForWidth(width())}; }

 Q_SIGNALS:
  void changed();

 protected:
  void resizeEvent(QResizeEvent*) override;
  bool eventFilter(QObject*, QEvent*) override;

 private:
  /// Returns the height; moves the chips where asked to.
  int lay_out(int width, bool move) const;

  QString name_;
  QStringList values_;
  QList<QToolButton*> chips_;
};

}  // namespace trainyard
