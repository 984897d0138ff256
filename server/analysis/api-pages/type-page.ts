import type { Member } from '../dart/api.ts'
import { type Group, sectionId, renderName, type Page, pageFile, renderGroups } from './page.ts'
import { html, type Html, join } from './html.ts'
import { linkTo } from './library-page.ts'
import { lineage } from './references.ts'
import { declarationAnchor, isInherited, type Place, withDoc } from './site.ts'
import { type PageContext, type View, viewOf } from './view.ts'

/** Renders the page of a class, mixin, extension, extension type or enum, with its type relations and all members. */
export function renderTypePage(pageContext: PageContext, place: Place): Page {
  const { declaration, libraryPage } = place
  const view = viewOf(pageContext, place.path, { libraryPage, place })
  const { main, contents } = renderGroups(groupsOf(withInheritedDocs(place, view)), view)
  const inherited = inheritedMembers(place, view)
  return pageFile({
    path: place.path,
    title: declaration.name || '(unnamed)',
    kind: declaration.kind,
    libraryPage,
    contents: [...contents, ...(inherited.length > 0 ? [{ id: sectionId('Inherited'), label: 'Inherited', entries: [] }] : [])],
    main: html`<h1>${renderName(declaration)} <span class="kind">${declaration.kind}</span></h1>
      ${view.signature(declaration)} ${view.deprecation(declaration)}
      <div class="doc">${view.comment(declaration.doc, 1)}</div>
      ${relations(place, view)}${view.source(declaration)} ${main}${inheritedPart(inherited, view)}`,
  })
}

/** Returns the members of a type. Those without a comment have the comment of the nearest member of the package that they override. */
function withInheritedDocs(place: Place, { site }: View): Member[] {
  const docs = new Map<string, string>()
  for (const { members } of lineage(place, site).slice(1)) {
    for (const member of members.filter(isInherited)) {
      const anchor = declarationAnchor(member)
      if (member.doc !== null && !docs.has(anchor)) docs.set(anchor, member.doc)
    }
  }
  return place.members.map((member) => withDoc(member, docs.get(declarationAnchor(member)) ?? null))
}

function groupsOf(members: readonly Member[]): Group[] {
  const used = new Map<string, number>()
  const group = (title: string, holds: (member: Member) => boolean): Group => ({
    title,
    entries: members.filter(holds).map((described) => ({ described, anchor: distinct(declarationAnchor(described), used) })),
  })
  const isProperty = ({ kind }: Member) => kind === 'field' || kind === 'getter' || kind === 'setter'
  return [
    group('Enum values', ({ kind }) => kind === 'enum value'),
    group('Constructors', ({ kind }) => kind === 'constructor'),
    group('Constants', ({ kind }) => kind === 'constant'),
    group('Static properties', (member) => member.isStatic && isProperty(member)),
    group('Static methods', ({ kind, isStatic }) => isStatic && kind === 'method'),
    group('Properties', (member) => !member.isStatic && isProperty(member)),
    group('Methods', ({ kind, isStatic }) => !isStatic && kind === 'method'),
    group('Operators', ({ kind }) => kind === 'operator'),
  ]
}

/** Returns a unique id by adding a number to repeated anchors. */
function distinct(anchor: string, used: Map<string, number>): string {
  const count = (used.get(anchor) ?? 0) + 1
  used.set(anchor, count)
  return count === 1 ? anchor : `${anchor}-${count}`
}

const supertypeLabels = { extends: 'Extends', implements: 'Implements', with: 'Mixes in', on: 'On', represents: 'Represents' } as const
const subtypeLabels = {
  extends: 'Subtypes',
  implements: 'Implementers',
  with: 'Mixed into',
  on: 'Extensions and mixins',
  represents: 'Extension types',
} as const
/** Maximum number of subtypes listed per relation. */
const maxSubtypes = 100

/** Renders the supertypes and subtypes of a type. */
function relations(place: Place, view: View): Html | null {
  const supertypes = Map.groupBy(view.site.supertypesOf(place), ({ relation }) => relation)
  const subtypes = Map.groupBy(view.site.subtypesOf(place), ({ relation }) => relation)
  if (supertypes.size + subtypes.size === 0) return null
  const up = [...supertypes].map(
    ([relation, types]) =>
      html`<dt>${supertypeLabels[relation]}</dt>
        <dd>
          ${join(
            types.map(({ type, place: found }) =>
              found ? html`<a href="${view.to(found)}"><code>${type}</code></a>` : html`<code>${type}</code>`,
            ),
            ', ',
          )}
        </dd> `,
  )
  const down = [...subtypes].map(
    ([relation, all]) =>
      html`<dt>${subtypeLabels[relation]}</dt>
        <dd>
          ${join(
            all.slice(0, maxSubtypes).map(({ subtype }) => linkTo(subtype, view)),
            ', ',
          )}${all.length > maxSubtypes ? ` and ${all.length - maxSubtypes} more` : null}
        </dd> `,
  )
  return html`<dl class="relations">${up}${down}</dl> `
}

type Inherited = { from: Place; members: Member[] }

/** Returns the members that a type inherits from other types of the package and does not override, by type, nearest first. */
function inheritedMembers(place: Place, { site }: View): Inherited[] {
  if (place.declaration.kind === 'extension') return []
  const known = new Set(place.members.map(declarationAnchor))
  return lineage(place, site)
    .slice(1)
    .map((from) => ({
      from,
      members: from.members.filter((member) => {
        const anchor = declarationAnchor(member)
        const isShown = isInherited(member) && !known.has(anchor)
        if (isShown) known.add(anchor)
        return isShown
      }),
    }))
    .filter(({ members }) => members.length > 0)
}

function inheritedPart(inherited: readonly Inherited[], view: View): Html | null {
  if (inherited.length === 0) return null
  return html`<section aria-labelledby="${sectionId('Inherited')}">
    <h2 id="${sectionId('Inherited')}">Inherited</h2>
    ${inherited.map(
      ({ from, members }) =>
        html`<h3 class="from">From ${linkTo(from, view)}</h3>
          <ul class="names">
            ${members.map((member) => html`<li><a href="${view.to({ path: from.path, anchor: declarationAnchor(member) })}">${member.name}</a></li>`)}
          </ul> `,
    )}
  </section> `
}
