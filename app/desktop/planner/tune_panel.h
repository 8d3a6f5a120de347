// A TunePanel asks what a tuning searches: settings with their values, families of settings, what
// is to be small, whether trials are simulated or trained for real on this machine, and how much
// may be spent; its button starts the tuning.
#pragma once

#include <optional>

#include "app/desktop/planner/question_panel.h"
#include "app/desktop/session/document.h"
#include "app/desktop/session/tuning_session.h"

class QLabel;
class QVBoxLayout;

namespace trainyard {

class CheckedField;
class Field;
class Segment;
class WordList;

class TunePanel : public QuestionPanel {
  Q_OBJECT

 public:
  TunePanel(Document&, const TuningSession&, QWidget* parent = nullptr);

  /// Returns the question that the fields ask; empty without a model and a plan, and where a field
  /// is wrong.
  std::optional<TuneRequest> request() const;
  /// Everything on which the trials depend, as text: different texts are different tunings.
  QString fingerprint() const;
  /// Takes what is typed and not entered yet. Returns whether the question can be tuned; else a
  /// sentence beside the field says why not.
  bool commit();
  /// Reads the document again.
  void refresh();

 private:
  QWidget* make_question();
  void add_lists(QVBoxLayout*);
  void add_ways(QVBoxLayout*);
  void add_measured(QVBoxLayout*);
  void add_limits(QVBoxLayout*);
  bool measured() const;
  TuneGoal goal() const;
  std::optional<int> fuse() const;
  std::vector<std::string> families() const;
  std::vector<Plan> plans() const;
  void check_vary(const std::string& word) const;
  void show_goals();
  void refresh_question();
  void refresh_progress();
  void show_error();
  QString missing() const;
  bool fields_hold() const;

  Document& document_;
  const TuningSession& tuning_;
  WordList *vary_, *families_, *training_;
  Segment* ways_;
  Field *goal_, *data_, *fuse_;
  CheckedField *cluster_, *steps_, *trials_, *budget_, *seed_;
  QWidget* real_;  // what only trials that are trained for real need
  QLabel *about_, *about_fuse_;
  QString asked_;  // fingerprint of what was asked last
  std::int64_t trials_asked_ = 0;
  QString here_;  // devices of this machine for the open plan, as a word of a cluster
};

}  // namespace trainyard
