// Helpers that the tests of the window share.
#pragma once

#include <gtest/gtest.h>

#include <QApplication>
#include <QDir>
#include <QDragEnterEvent>
#include <QDropEvent>
#include <QElapsedTimer>
#include <QFile>
#include <QKeyEvent>
#include <QMimeData>
#include <QTemporaryDir>
#include <QThread>
#include <QUrl>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/desktop/shell/window.h"

namespace trainyard {

/// Processes events until the condition holds; returns false if it did not within a minute.
inline bool happens(const std::function<bool()>& it) {
  QElapsedTimer clock;
  clock.start();
  while (!it()) {
    if (clock.elapsed() > 60'000) return false;
    QApplication::processEvents();
    QThread::msleep(1);
  }
  QApplication::processEvents();
  return true;
}

/// The widget of this type with the given accessible name.
template <class Widget>
Widget* named(QWidget& within, const QString& name) {
  for (Widget* each : within.findChildren<Widget*>())
    if (each->accessibleName() == name) return each;
  ADD_FAILURE() << "nothing is called " << name.toStdString();
  return nullptr;
}

/// Presses and releases a key; the widget is painted before the next one.
inline void press(QWidget* widget, int key, Qt::KeyboardModifiers held = Qt::NoModifier) {
  for (const QEvent::Type type : {QEvent::KeyPress, QEvent::KeyRelease}) {
    QKeyEvent event(type, key, held);
    QApplication::sendEvent(widget, &event);
  }
  widget->repaint();
}

/// Drags files onto the window and drops them.
inline void drop(Window& window, const std::vector<std::string>& files) {
  QMimeData data;
  QList<QUrl> urls;
  for (const std::string& file : files)
    urls.append(QUrl::fromLocalFile(QString::fromStdString(file)));
  data.setUrls(urls);
  QDragEnterEvent enter(QPoint(400, 400), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
  QApplication::sendEvent(&window, &enter);
  EXPECT_TRUE(enter.isAccepted());
  QDropEvent event(QPointF(400, 400), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
  QApplication::sendEvent(&window, &event);
}

/// A folder that is removed after the test.
struct Folder {
  QTemporaryDir place;
  std::string file(const char* name, const std::string& content) const {
    const QString path = place.filePath(name);
    QDir().mkpath(QFileInfo(path).path());
    QFile file(path);
    file.open(QIODevice::WriteOnly);
    file.write(QByteArray::fromStdString(content));
    return path.toStdString();
  }
};

/// A decoder of four layers, small enough that every plan is simulated at once.
inline const char* const kConfig = R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama",
  "hidden_size": 512, "intermediate_size": 1376, "num_hidden_layers": 4, "num_attention_heads": 8,
  "num_key_value_heads": 8, "vocab_size": 32000, "max_position_embeddings": 1024, "rms_norm_eps": 1e-5,
  "tie_word_embeddings": false, "torch_dtype": "bfloat16", "hidden_act": "silu"})";

/// The window with a plan simulated, fixes and neighbours priced.
inline std::unique_ptr<Window> window_with(const Request& request) {
  auto window = std::make_unique<Window>();
  window->resize(1600, 1000);
  window->show();
  window->start_with(request);
  happens([&] { return window->settled(); });
  return window;
}

inline Request small_plan() {
  return {"llama-3-8b", "h100-sxm:8", "", {"tp=2", "pp=2", "global-batch=16"}};
}

}  // namespace trainyard
