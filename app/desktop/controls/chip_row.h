// A ChipRow shows values as chips that are on or off, in as many lines as they need. One chip takes
// the Tab key, and the arrow keys go from chip to chip.
#pragma once

#include <QStringList>
#include <QWidget>

#include <functional>
#include <utility>

class QToolButton;

namespace trainyard {

class ChipRow : public QWidget {
  Q_OBJECT

 public:
  explicit ChipRow(const QString& accessible_name, QWidget* parent = nullptr);

  /// Sets how a chip names its value, from the next set_values() on; without it the chip shows the
  /// value.
  void set_titles(std::function<QString(const QString&)> title) { title_ = std::move(title); }
  /// own: the value of the open plan, which is marked; may be empty.
  void set_values(const QStringList& values, const QStringList& on, const QString& own);
  const QStringList& values() const { return values_; }
  /// The values that are on, in the order of values().
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
  /// Returns the height; moves the chips if `move` is set.
  int lay_out(int width, bool move) const;

  QString name_;
  std::function<QString(const QString&)> title_;
  QStringList values_;
  QList<QToolButton*> chips_;
};

}  // namespace trainyard
