// The search of pages that are opened from a folder: browsers start no worker for a file.
//
// This class has the interface of Worker, and runs the script in a hidden frame. Material's worker
// looks for the name IFrameWorker in its parent.
(() => {
  if (location.protocol !== "file:") return

  class IFrameWorker extends EventTarget {
    constructor(url) {
      super()
      this.onmessage = null
      this.waiting = []
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.append(frame)
      this.frame = frame.contentWindow
      this.frame.postMessage = data => this.receive(data)
      this.frame.importScripts = (...urls) => urls.reduce(
        (before, each) => before.then(() => this.load(each)), Promise.resolve())
      this.load(url).then(() => {
        const waiting = this.waiting
        this.waiting = null
        for (const data of waiting) this.postMessage(data)
      })
    }

    load(url) {
      return new Promise((done, fail) => {
        const script = this.frame.document.createElement("script")
        script.src = new URL(url, location).href
        script.onload = done
        script.onerror = fail
        this.frame.document.body.append(script)
      })
    }

    receive(data) {
      const event = new MessageEvent("message", { data })
      this.dispatchEvent(event)
      if (this.onmessage) this.onmessage(event)
    }

    postMessage(data) {
      if (this.waiting) this.waiting.push(data)
      else this.frame.dispatchEvent(new this.frame.MessageEvent("message", { data }))
    }

    terminate() {
      this.frame.frameElement.remove()
    }
  }

  window.IFrameWorker = window.Worker = IFrameWorker
})()
