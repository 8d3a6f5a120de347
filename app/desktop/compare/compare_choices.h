// CompareChoices are the two fields in the tool bar that say which results are compared: plans of
// the project, the plan chosen from a search, recent runs, runs of one tag and published rows.
#pragma once

#include <QString>
#include <QStringList>
#include <QWidget>

#include <functional>

#include "app/desktop/controls/run_list.h"
#include "app/desktop/session/document.h"

namespace trainyard {

class Field;

/// The plan of a word such as "plan:A"; null for other words and where there is none.
const ProjectPlan* plan_called(const Project&, const QString& word);

class CompareChoices : public QWidget {
  Q_OBJECT

 public:
  /// found: whether a plan was chosen from a search. All arguments must outlive the fields.
  CompareChoices(Document&, RunList&, std::function<bool()> found, QWidget* parent = nullptr);

  /// The words of the two results: "plan:A", "found", "published:ID", "run:7",
  /// "runs:tag:repeat-7"; empty where there is nothing to choose.
  const QString& a() const { return a_word_; }
  const QString& b() const { return b_word_; }
  /// Chooses two results; words that are not among the choices yet are added.
  void choose(const QString& a, const QString& b);
  void swap();
  /// Reads the choices again. The current ones stay where they still exist.
  void fill();

 Q_SIGNALS:
  void leaving();  // the user is about to choose another result
  void chosen();   // the user has

 private:
  void choose_published(Field*);
  void take(Field*, const QString& word);

  Document& document_;
  RunList& runs_;
  std::function<bool()> found_;
  QStringList extra_;  // words added to the permanent choices
  QString a_word_, b_word_;
  Field *a_, *b_;
};

}  // namespace trainyard
