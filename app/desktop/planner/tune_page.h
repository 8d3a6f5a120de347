// A TunePage shows a tuning: the question at the left, every trial as a picture over the table of
// them all, and applies the best trial, or the chosen one, to the plan.
#pragma once

#include "app/desktop/controls/page.h"
#include "app/desktop/planner/tune_panel.h"
#include "app/desktop/session/document.h"
#include "app/desktop/session/tuning_session.h"

class QPushButton;

namespace trainyard {

class Actions;
class TuningScene;
class ViewTable;

class TunePage : public Page {
  Q_OBJECT

 public:
  explicit TunePage(Document&, QWidget* parent = nullptr);
  /// Lets the commands "plan.tune*" act on this page.
  void connect_commands(const Actions&);

  const TuningSession& tuning() const { return tuning_; }
  TunePanel& panel() const { return *panel_; }
  QList<CanvasWidget*> canvases() const override { return {canvas_, gains_}; }
  bool settled() const override { return !tuning_.running(); }
  bool whole() const override { return true; }
  void start();
  std::optional<std::size_t> chosen() const { return chosen_; }
  void choose(std::optional<std::size_t> trial);
  void choose_row(Item) override;
  /// Gives the open plan the settings of the chosen trial, or of the best where none is chosen, as
  /// one undo step. Does nothing where that trial has no settings of the plan.
  void apply();
  /// As the command line writes the report.
  std::optional<Drawing> picture() const override;
  std::optional<DataTable> table() const override;
  std::optional<std::string> document() const override;

 Q_SIGNALS:
  void changed();
  /// The user wants to train the open plan with these settings of training, as they are typed.
  void train_wanted(const QString& training);

 protected:
  void showEvent(QShowEvent*) override;

 private:
  QWidget* make_picture();
  QWidget* make_fusion();
  bool has_trials() const { return !tuning_.report().trials.empty(); }
  /// Returns the trial that apply() is about.
  std::optional<std::size_t> wanted() const;
  std::vector<std::string> settings() const;
  QString training() const;
  void copy_command() const;
  void refresh();
  void refresh_state();
  void refresh_apply();

  Document& document_;
  TuningSession tuning_;
  std::optional<std::size_t> chosen_;
  QString asked_;  // fingerprint of the tuning
  TunePanel* panel_;
  CanvasWidget *canvas_, *gains_;
  TuningScene* scene_ = nullptr;  // owned by the canvas
  ViewTable* rows_;
  QPushButton *apply_, *train_, *copy_, *save_;
  QLabel *best_, *chip_, *fusion_;
};

}  // namespace trainyard
