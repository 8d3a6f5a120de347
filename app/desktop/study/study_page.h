// A StudyPage asks a question at the left and shows its answer at the right: a picture under a bar,
// the rows behind it, and what follows from them in sentences. What has to be measured for it is
// measured in the background.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/desktop/controls/page.h"
#include "app/desktop/session/background_measurement.h"
#include "app/desktop/session/document.h"

class QLabel;
class QPushButton;

namespace trainyard {

class Actions;
class ChartScene;
class Header;
class MeasurementPanel;
class ViewTable;

class StudyPage : public Page {
  Q_OBJECT

 public:
  ViewTable& rows() const { return *rows_; }
  QString sentences() const;

  QList<CanvasWidget*> canvases() const override { return {canvas_}; }
  bool settled() const override { return !work_->running(); }
  bool whole() const override { return true; }
  /// Asks what is asked at the left; does nothing while it is being answered or a field is wrong.
  virtual void start() = 0;

 protected:
  /// The title is seen; names are those for people who cannot see the page.
  struct Words {
    QString title, canvas_name, rows_name, sentences_name;
  };
  /// `tab`: the page's name among the tabs of Calibrate. The document must outlive the page.
  StudyPage(Document&, QString tab, std::unique_ptr<BackgroundMeasurement>, QWidget* parent);
  /// Lays out the page; once, in the constructor.
  void lay_out(QWidget* question, const Words&, std::unique_ptr<ChartScene>);
  /// Lets a panel ask, which is the question that was laid out: it starts and stops, what it asks
  /// is command(), and it reads the document again while the page is seen. Once, after lay_out().
  void ask_by(MeasurementPanel&);
  /// Adds to the bar whether the answer is fresh, a button that copies command(), and one that
  /// saves the answer; `of`: "branches". Once, after lay_out().
  void add_command(const QString& of);
  /// Lets the button that saves do what the window's own command does. Once, after add_command().
  void connect_save(const Actions&);
  /// Connects the commands "calibrate.NAME" and "calibrate.NAME-stop".
  void connect_runs(const Actions&, const QString& name, std::function<void()> start);

  /// The command line that asks what the fields ask; empty where they cannot be asked.
  QString command() const;
  /// Notes that command() is what is measured from now on.
  void note_question() { asked_ = command(); }
  void refresh_command();
  void say(const std::vector<std::string>& sentences);

  void showEvent(QShowEvent*) override;

  BackgroundMeasurement& work() const { return *work_; }
  Header& bar() const { return *bar_; }
  ChartScene& scene() const { return *scene_; }

 private:
  Document& document_;
  QString tab_, asked_;
  std::unique_ptr<BackgroundMeasurement> work_;
  MeasurementPanel* asking_ = nullptr;
  Header* bar_ = nullptr;
  CanvasWidget* canvas_ = nullptr;
  ChartScene* scene_ = nullptr;  // owned by the canvas
  ViewTable* rows_;
  QLabel *sentences_, *chip_ = nullptr;
  QPushButton *copy_ = nullptr, *save_ = nullptr;
};

}  // namespace trainyard
