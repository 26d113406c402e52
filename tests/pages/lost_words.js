// Start a search worker of the site, and ask for each word of each page: alone, and among stop words.
// The result is in `window.lost`: words without a page.
(async () => {
  const { base, search } = JSON.parse(document.getElementById("__config").textContent)
  const index = await (await fetch(`${base}/search/search_index.json`)).json()
  const worker = new Worker(`${base}/${search}`)
  const ask = (type, data) => new Promise(done => {
    worker.onmessage = answer => done(answer.data.data)
    worker.postMessage({ type, data })
  })
  await ask(0, { ...index, options: { suggest: false } })
  const plain = text => new DOMParser().parseFromString(text.replace(/<[^>]*>/g, " "), "text/html").body.textContent
  const words = new Set()
  for (const { title, text } of index.docs)
    for (const word of plain(`${title} ${text}`).toLowerCase().match(/\w+(?:\.\d\w*)*/g) || [])
      words.add(word)
  const lost = []
  for (const word of words)
    for (const question of [word, `how do I get the ${word} in it?`])
      if (!(await ask(2, question)).items.length) lost.push(question)
  window.lost = { words: words.size, lost }
})()
