// The tab Run: the training run live over its prediction, and what it measured of this machine, to
// be accepted for the project's predictions.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/desktop/controls/page.h"
#include "app/desktop/session/background.h"
#include "app/desktop/session/document.h"
#include "app/desktop/session/training_session.h"
#include "app/workspace/runs/run_profile.h"
#include "visualizers/run/run_troubles.h"

class QLabel;
class QPushButton;

namespace trainyard {

class Actions;
class ElidedLabel;

class RunPage : public Page {
  Q_OBJECT

 public:
  RunPage(Document&, TrainingSession&, QWidget* parent = nullptr);
  void connect_commands(const Actions&);

  QList<CanvasWidget*> canvases() const override { return {canvas_}; }
  bool settled() const override { return !work_.running(); }
  std::optional<Drawing> picture() const override;
  std::optional<DataTable> table() const override;

  /// The run that has ended is being recorded: before it has its number it cannot be accepted.
  void await_number();
  /// The number under which it is listed; nothing where it is not kept. `repeats`: a sentence about
  /// runs that it is a repeat of, which stands before what there is to accept; empty: none.
  void set_number(std::optional<std::int64_t> run, const QString& repeats = {});
  /// What accepting would do; null where nothing was measured, or not worked out yet.
  const RunProfile* profile() const { return profile_.get(); }
  /// Why there is nothing to accept, as a sentence; empty: there is.
  QString why_not() const;
  /// The project's predictions go by the run from now on, as one step of undo.
  void accept();

 Q_SIGNALS:
  /// What there is to accept, or why there is not.
  void changed();

 private:
  struct Answer {
    std::shared_ptr<const RunProfile> profile;
    std::string error;
  };
  void begin();
  void work_out();
  std::vector<RunTrouble> troubles() const;  // of the run that is over
  std::string word() const;
  void refresh();

  Document& document_;
  TrainingSession& training_;
  CanvasWidget* canvas_;
  QLabel* troubles_;
  ElidedLabel* words_;
  QPushButton *accept_, *start_;
  std::optional<std::int64_t> number_;
  bool awaits_number_ = false;
  std::shared_ptr<const RunProfile> profile_;
  std::string error_;
  QString repeats_;
  Background work_{this};  // last: it uses all of the above
};

}  // namespace trainyard
