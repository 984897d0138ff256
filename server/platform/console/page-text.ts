import escapeHtml from 'escape-html'
import { z } from 'zod'

const document = z.object({ path: z.string().optional(), isShortened: z.boolean().optional(), html: z.string().nullish() }).nullish()

const shownVersion = z.object({
  version: z.string().optional(),
  description: z.string().nullish(),
  readme: document,
  changelog: document,
  example: document,
  license: document,
  apiDocumentation: z.object({ page: z.object({ html: z.string().nullable() }).nullish() }).nullish(),
})

const listed = z.object({ name: z.string(), description: z.string().nullish(), latest: z.object({ version: z.string() }).nullish() })

/** What has text in the answers to the queries of package pages. */
const answer = z.object({
  searchPackages: z.object({ edges: z.array(z.object({ node: listed })) }).nullish(),
  package: z.object({ name: z.string().optional(), displayedVersion: shownVersion.nullish(), version: shownVersion.nullish() }).nullish(),
})

/** The tabs of a package that have text, by the last part of their path. */
const tabs = { '': 'Readme', '/changelog': 'Changelog', '/example': 'Example', '/license': 'License', '/api': 'API' }

/**
 * Returns what browsers without JavaScript show of the answers to the queries of a page, as HTML: the packages of a list, or a package with one of its
 * texts. Null if they contain neither.
 */
export function textOfAnswers(answers: readonly { data: unknown }[]): string | null {
  const known = answers.flatMap(({ data }) => answer.safeParse(data).data ?? [])
  const packages = known.flatMap(({ searchPackages }) => searchPackages?.edges.map(({ node }) => node) ?? [])
  const about = known.flatMap(({ package: pkg }) => pkg ?? [])
  const name = about.find((one) => one.name !== undefined)?.name
  if (name === undefined) return packages.length > 0 ? listOf(packages) : null
  const shown = Object.assign({}, ...about.map(({ displayedVersion, version }) => displayedVersion ?? version)) as z.infer<
    typeof shownVersion
  >
  const isExact = about.some(({ version }) => version != null)
  return [headerOf(name, shown, isExact), textOf(shown)].join('')
}

const listOf = (packages: z.infer<typeof listed>[]): string => {
  const items = packages.map(({ name, description, latest }) => {
    const link = `<a href="packages/${encodeURIComponent(name)}">${escapeHtml(name)}</a>`
    return `<li>${link} ${escapeHtml(latest?.version ?? '')}<br>${escapeHtml(description ?? '')}</li>`
  })
  return `<h1>Packages</h1><ul>${items.join('')}</ul>`
}

function headerOf(name: string, { version = '', description }: z.infer<typeof shownVersion>, isExact: boolean): string {
  const path = `packages/${encodeURIComponent(name)}${isExact ? `/versions/${encodeURIComponent(version)}` : ''}`
  const links = Object.entries(tabs).map(([end, title]) => `<a href="${path}${end}">${title}</a>`)
  return `<p><a href="packages">Packages</a></p><h1>${escapeHtml(name)} ${escapeHtml(version)}</h1><p>${escapeHtml(description ?? '')}</p><p>${links.join(' · ')}</p>`
}

function textOf({ readme, changelog, example, license, apiDocumentation }: z.infer<typeof shownVersion>): string {
  const { page } = apiDocumentation ?? {}
  if (page) return page.html ?? ''
  const shown = [readme, changelog, example, license].find((one) => one?.html)
  const note = shown?.isShortened ? `<p>Shortened. ${escapeHtml(shown.path ?? 'The file')} in the archive has the whole text.</p>` : ''
  return `${shown?.html ?? ''}${note}`
}
