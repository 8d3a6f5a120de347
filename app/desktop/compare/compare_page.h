// The Compare perspective's first tab: any two results over each other. A
// result is a plan of the project, the plan chosen among those searched, a
// published row or a recorded run.
#pragma once

#include <QPointer>
#include <QTimer>

#include <functional>
#include <optional>

#include "app/desktop/controls/page.h"
#include "app/desktop/controls/run_list.h"
#include "app/desktop/scene/compare_scenes.h"
#include "app/desktop/session/background.h"
#include "app/desktop/session/document.h"

class QCheckBox;
class QLabel;
class QPlainTextEdit;
class QPushButton;

namespace trainyard {

class ElidedLabel;
class Field;
class Segment;

class ComparePage : public Page {
  Q_OBJECT

 public:
  /// found: the scenario of the plan that is chosen among those searched, where
  /// there is one. All must outlive the page.
  ComparePage(Document&, RunList&, std::function<std::optional<Scenario>()> found,
              QWidget* parent = nullptr);

  QList<CanvasWidget*> canvases() const override;
  bool settled() const override { return !work_.running(); }
  bool own_verdict() const override { return true; }
  QWidget* tools() override { return tools_; }
  std::optional<Drawing> picture() const override;
  /// The causes that are shown.
  std::optional<DataTable> table() const override;

  /// What is compared, as notes and tests call it: "plan:A", "found",
  /// "published:ID", "run:7".
  QString a() const;
  QString b() const;
  /// Adds the words to what can be chosen where they are not there yet.
  void compare(const QString& a, const QString& b);
  const CompareLook& look() const { return look_; }

  void swap();
  void set_linked(bool);
  void set_deltas_only(bool);
  /// Both timelines to where the cause shows most; cause: of those that are
  /// shown.
  void jump(int cause);
  /// The compared plan B becomes the open one; nothing where B is no plan of
  /// the project.
  void adopt();
  /// By the ending of the name: .png, .svg, .csv or .html. Throws Error{Io}, or
  /// Error{InvalidInput} for another ending.
  void export_to(const QString& path);
  void export_dialog();
  void commit_note();

 Q_SIGNALS:
  void toggled();  // linked or deltas only

 protected:
  void showEvent(QShowEvent*) override;
  bool eventFilter(QObject*, QEvent*) override;

 private:
  struct Answer;
  QWidget* make_tools();
  QWidget* make_head();
  QWidget* make_right();
  void fill_choices();
  void choose_published(Field*);
  void start();
  std::function<ComparedResult(std::stop_token)> opener(const QString& word) const;
  QString fingerprint(const QString& word) const;
  void show_answer(const Answer&);
  void refresh();
  void show_note();
  QString words_of_nothing() const;

  Document& document_;
  RunList& runs_;
  std::function<std::optional<Scenario>()> found_;
  CompareLook look_;
  QString asked_;      // fingerprint of what is compared or being compared
  QStringList extra_;  // words that were chosen beside those always there
  QString a_word_, b_word_;
  QWidget* tools_;
  Field *a_ = nullptr, *b_ = nullptr;
  ElidedLabel* head_ = nullptr;
  QLabel* chip_ = nullptr;
  QCheckBox *linked_ = nullptr, *deltas_ = nullptr;
  QPushButton *swap_ = nullptr, *export_ = nullptr, *adopt_ = nullptr;
  Segment* kind_ = nullptr;
  QLabel* why_ = nullptr;
  QPlainTextEdit* note_ = nullptr;
  CanvasWidget *cards_ = nullptr, *timelines_ = nullptr, *causes_ = nullptr, *ranks_ = nullptr;
  QTimer note_pause_;
  QPointer<Document> alive_;  // null once the document is gone
  Background work_{this};     // last: it uses all of the above
};

}  // namespace trainyard
