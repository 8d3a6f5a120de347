// A SweepPanel asks what a sweep goes over: models, clusters, prices and values of settings, and
// whether each combination has its best plan searched or the open plan as it is; its button starts
// the sweep.
#pragma once

#include <optional>

#include "app/desktop/planner/question_panel.h"
#include "app/desktop/session/document.h"
#include "app/desktop/session/sweeping.h"

class QLabel;

namespace trainyard {

class Field;
class Segment;
class SpacePanel;
class WordList;

class SweepPanel : public QuestionPanel {
  Q_OBJECT

 public:
  /// space: what each search goes through.
  SweepPanel(Document&, const SpacePanel& space, const Sweeping&, QWidget* parent = nullptr);

  /// Returns the question that the fields ask; empty without a model and a plan.
  std::optional<SweepQuestion> question() const;
  /// Everything on which the rows depend, as text: different texts are different sweeps.
  QString fingerprint() const;
  /// Takes what is typed and not entered yet. Returns whether the question can be swept; else a
  /// sentence beside the field says why not.
  bool commit();
  /// Reads the document again.
  void refresh();

 private:
  QWidget* make_question();
  void refresh_size();
  void refresh_progress();
  void show_error();
  QString missing() const;

  Document& document_;
  const SpacePanel& space_;
  const Sweeping& sweeping_;
  WordList *models_, *clusters_, *prices_, *vary_;
  Segment* plans_;
  Field* objective_;
  QLabel* about_;
  QString asked_;  // fingerprint of what was asked last
};

}  // namespace trainyard
