// A MeasurementPanel asks a question about the open document that a measurement answers in the
// background, and shows how far that is. Panels derive from it with the fields of their question.
#pragma once

#include <optional>
#include <vector>

#include "app/desktop/planner/question_panel.h"
#include "app/desktop/session/background_measurement.h"
#include "app/desktop/session/document.h"
#include "app/workspace/scenario/request.h"

class QVBoxLayout;

namespace trainyard {

class CheckedField;
class Field;
class WordList;

class MeasurementPanel : public QuestionPanel {
  Q_OBJECT

 public:
  /// The command line that asks the same; empty where nothing can be asked.
  virtual QString fingerprint() const = 0;
  /// Takes what is typed and not entered yet. Returns whether the question can be asked; else a
  /// sentence says why not.
  bool commit();
  /// Reads the document again.
  virtual void refresh();

 protected:
  /// Words of the button, its names for people who cannot see it, and what stands before the name
  /// of the model: "Loss of".
  struct Verbs {
    QString start, again, start_name, stop_name, of;
  };
  /// Both must outlive the panel.
  MeasurementPanel(const Words&, Document&, const BackgroundMeasurement&, QWidget* parent);

  /// Begins the column of fields with a sentence about the question, and makes it the panel's.
  QVBoxLayout* begin_fields(const QString& about);
  /// Adds a row with the data that the question is about.
  static void add_data(QVBoxLayout*, Field*);
  /// Follows the fields of the question, which fields_hold() and commit() ask. Once, when they are
  /// there. The words may be null.
  void follow(WordList*, std::vector<CheckedField*>);
  /// Shows what changed in the question, and says so.
  void note_change();

  virtual Verbs verbs() const = 0;
  /// Returns why the question cannot be asked; empty where it can.
  virtual QString missing() const;
  /// Returns what is asked about in a few words.
  virtual QString subject() const;
  virtual void refresh_progress();

  bool fields_hold() const;
  /// Says that a field is wrong; empty where none is.
  QString wrong_field() const;
  /// The open plan, by prices of its own; empty without one, and where a field is wrong.
  std::optional<Request> open_plan() const;
  Document& document() const { return document_; }

 private:
  Document& document_;
  const BackgroundMeasurement& measurement_;
  WordList* words_ = nullptr;
  std::vector<CheckedField*> fields_;
};

}  // namespace trainyard
