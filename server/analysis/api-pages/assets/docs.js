// Runs on pages without an origin, where storage, cookies and fetch are not available. The chosen theme is kept in the URL.
;(() => {
  const root = document.documentElement
  const searchPage = document.currentScript.dataset.search
  const given = new URLSearchParams(location.search).get('theme')
  let theme = given === 'dark' || given === 'light' ? given : null
  const isDark = () => (theme ?? (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light')) === 'dark'
  const show = () => (theme === null ? delete root.dataset.theme : (root.dataset.theme = theme))
  show()

  /** Returns the URL of another documentation page, with the chosen theme. */
  const withTheme = (href) => {
    const url = new URL(href, location.href)
    if (theme !== null) url.searchParams.set('theme', theme)
    return url.href
  }

  // Links to pages of this and other versions are updated when they are followed, since a page may have thousands.
  const docs = new URL('..', new URL(searchPage, location.href)).href
  const carry = ({ target }) => {
    const link = target instanceof Element ? target.closest('a[href]') : null
    if (link && theme !== null && link.href.startsWith(docs) && !link.getAttribute('href').startsWith('#')) link.href = withTheme(link.href)
  }
  for (const kind of ['click', 'auxclick', 'contextmenu']) addEventListener(kind, carry, true)

  const make = (tag, properties, ...children) => {
    const element = Object.assign(document.createElement(tag), properties)
    element.append(...children)
    return element
  }

  function themeSwitch() {
    const button = make('button', { type: 'button', className: 'theme' })
    const name = () => (button.textContent = isDark() ? 'Light mode' : 'Dark mode')
    button.addEventListener('click', () => {
      theme = isDark() ? 'light' : 'dark'
      show()
      name()
    })
    name()
    return button
  }

  function searchBox(onChange) {
    const input = make('input', { type: 'search', placeholder: 'Search (press /)', autocomplete: 'off', spellcheck: false })
    input.setAttribute('aria-label', 'Search the documentation')
    const go = () => location.assign(`${withTheme(searchPage)}#q=${encodeURIComponent(input.value.trim())}`)
    input.addEventListener('keydown', (event) => {
      if (event.key === 'Enter' && !event.isComposing && input.value.trim()) go()
    })
    if (onChange) input.addEventListener('input', () => onChange(input.value))
    addEventListener('keydown', (event) => {
      const isTyping = event.target instanceof HTMLInputElement
      if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return
      event.preventDefault()
      input.focus()
    })
    return input
  }

  /** Returns the rank of a match, lower is better: exact, prefix, prefix of a word within the name, substring. Shorter names rank first. */
  function rank(name, lower, query) {
    if (lower === query) return 0
    if (lower.startsWith(query)) return 1000 + name.length
    const at = lower.indexOf(query)
    if (at < 0) return Infinity
    const isWord = /[._\s]/.test(name[at - 1]) || (name[at] !== lower[at] && name[at - 1] === lower[at - 1])
    return (isWord ? 2000 : 3000) + name.length
  }

  function find(symbols, text) {
    const query = text.trim().toLowerCase()
    if (!query) return null
    const found = []
    for (const symbol of symbols) {
      // A query with a dot also matches the qualified name, such as `Type.member`.
      const qualified = query.includes('.') && symbol[1] !== 'library' ? `${symbol[2]}.${symbol[0]}` : symbol[0]
      const score = rank(qualified, qualified.toLowerCase(), query)
      if (score < Infinity) found.push([score, symbol])
    }
    return found.sort((a, b) => a[0] - b[0]).map(([, symbol]) => symbol)
  }

  function searchResults(data) {
    const symbols = JSON.parse(data.textContent)
    const [results, all] = [document.getElementById('page-results'), document.getElementById('page-symbols')]
    const list = make('ul', { className: 'symbols' })
    results.after(list)
    return (text) => {
      const found = find(symbols, text)
      results.hidden = found === null
      all.hidden = found !== null
      list.replaceChildren()
      if (found === null) return
      results.textContent =
        found.length === 0 ? `No symbols match “${text.trim()}”.` : found.length === 1 ? '1 symbol' : `${found.length} symbols`
      for (const [name, kind, context, address] of found.slice(0, 100)) {
        const link = make('a', { href: address }, name)
        list.append(make('li', {}, link, ' ', make('span', {}, context ? `${kind} · ${context}` : kind)))
      }
    }
  }

  // The list of versions closes when the focus or a click is elsewhere, and with Escape.
  const closeVersions = ({ target, key }) => {
    const list = document.querySelector('.versions[open]')
    if (!list || (key !== undefined ? key !== 'Escape' : list.contains(target))) return
    list.open = false
    if (key === 'Escape' && list.contains(target)) list.querySelector('summary').focus()
  }
  for (const kind of ['click', 'focusin', 'keydown']) addEventListener(kind, closeVersions)

  addEventListener('DOMContentLoaded', () => {
    const tools = document.querySelector('.tools')
    const data = document.querySelector('script#page-index')
    const update = data && searchResults(data)
    const box = searchBox(update)
    tools.prepend(box)
    tools.append(themeSwitch())
    if (!update) return
    const take = () => {
      const query = new URLSearchParams(location.hash.slice(1)).get('q')
      if (query === null) return
      box.value = query
      update(query)
    }
    addEventListener('hashchange', take)
    take()
    box.focus()
  })
})()
