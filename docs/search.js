// The search of the site: which words of a question count, and how they are compared.
//
// Material's worker compares each word as a beginning: "in" then finds "inspect" and "install".
// This script sends it a question without stop words, and short words whole. The worker reads
// "word^1" as a whole word, and anything else as the beginning of one.
(() => {
  const QUERY = 2 // the kind of message that asks Material's worker
  const SHORTEST = 4 // characters of a word that may be the beginning of another one
  const STOP_WORDS = new Set((
    "a about after all also am an and any anyone are as at be been before but by can cannot could did do does " +
    "doing don e every for from g get gets getting give had has have having he help here how i if in info into is it " +
    "its just me my need no not of on or our out over please same should so some t than that the their them " +
    "then there these they this to too try trying up us use used using very via want warn was we were what when " +
    "where which while who why will with without work would you your"
  ).split(" "))

  function counted(question) {
    const words = question.toLowerCase().match(/\w+(?:\.\d\w*)*/g) || []
    const telling = words.filter(word => !STOP_WORDS.has(word))
    return (telling.length ? telling : words).map(compared).join(" ")
  }

  function compared(word) {
    if (/[_\d]/.test(word)) return `${word}^8` // a name or a number says more than other words
    const stem = word.replace(/(?:ies|es|s|ing|ed)$/, "")
    return stem.length < SHORTEST ? `${word}^1` : stem
  }

  const send = Worker.prototype.postMessage
  Worker.prototype.postMessage = function (message, ...others) {
    const isQuestion = message && message.type === QUERY && typeof message.data === "string"
    const asked = isQuestion ? { ...message, data: counted(message.data) } : message
    return send.call(this, asked, ...others)
  }
})()
