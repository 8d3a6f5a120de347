// The WelcomePage is shown at the first start: it offers what can be opened, as tiles, and the
// files opened last. The whole page accepts dropped files.
#pragma once

#include <QWidget>

class QVBoxLayout;

namespace trainyard {

class WelcomePage : public QWidget {
  Q_OBJECT

 public:
  explicit WelcomePage(QWidget* parent = nullptr);
  void refresh();

 protected:
  void changeEvent(QEvent*) override;

 Q_SIGNALS:
  void lesson();
  void open();
  void choose_model();
  void open_file(const QString& path);
  void published();
  void example(const QString& model, const QString& cluster);

 private:
  void refresh_icons();
  QVBoxLayout* recent_;
};

}  // namespace trainyard
