// The left side of a page that asks about many plans: what the question comes to, how far its
// answer is, why it cannot be asked, the button that starts and stops it, and below them the fields
// of the question, which scroll.
#pragma once

#include <QWidget>

class QLabel;
class QProgressBar;
class QPushButton;
class QScrollArea;

namespace trainyard {

class QuestionPanel : public QWidget {
  Q_OBJECT

 Q_SIGNALS:
  void changed();  // the user changed the question
  void start();
  void stop();

 protected:
  /// Titles are seen; names are those for people who cannot see the panel.
  struct Words {
    QString title, count_name, progress_name, error_name, fields_name;
  };
  QuestionPanel(const Words&, int width, QWidget* parent);

  /// Once, in the constructor.
  void set_fields(QWidget*);
  /// The button with these words, which stops while it runs and starts else, where it may.
  void show_run(bool running, const QString& words, const QString& name, const char* start_icon);
  /// A sentence that says why the question cannot be asked; empty hides it.
  void show_wrong(const QString& sentence);

  QLabel *state_, *count_, *now_, *error_;
  QProgressBar* bar_;
  QPushButton* run_;

 private:
  QScrollArea* scroll_;
  bool running_ = false;
};

}  // namespace trainyard
