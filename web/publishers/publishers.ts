import { computed, inject, type InjectionKey, type MaybeRefOrGetter, type Ref, toValue } from 'vue'
import { useRoute } from 'vue-router'
import {
  AdminPublishersDocument,
  CheckPublisherDomainDocument,
  CompleteDomainVerificationDocument,
  CreatePublisherDocument,
  DeletePublisherDocument,
  PublisherActivityDocument,
  PublisherChoiceDocument,
  type PublisherDetailsFragment,
  PublisherDocument,
  PublisherMembersDocument,
  PublisherPackagesDocument,
  type PublisherRole,
  PublishersDocument,
  RemovePublisherMemberDocument,
  SetPackagePublisherDocument,
  SetPublisherMemberDocument,
  StartDomainVerificationDocument,
  UpdatePublisherDocument,
} from '../generated/graphql.ts'
import { useMutation, useQuery } from '../graphql.ts'
import { useCursorList } from '../shared/cursor-list.ts'
import { useQueryParam } from '../shared/query-param.ts'

const member = { label: 'Member', description: 'Publishes versions of its packages.' }
export const memberRoles = {
  ADMIN: { label: 'Admin', description: 'Also manages members, packages and details.' },
  MEMBER: member,
  EDITOR: member, // deprecated name of the role
} satisfies Record<PublisherRole, { label: string; description: string }>
const assignable: PublisherRole[] = ['MEMBER', 'ADMIN']
export const memberRoleChoices = assignable.map((value) => ({ value, label: memberRoles[value].label }))

/** Returns a page of the publishers, filtered by the URL parameters `q` and `mine`. */
export function usePublishers() {
  const words = useQueryParam<string>('q', '', { resets: ['after'], replace: true })
  const mine = useQueryParam('mine', '', { allowed: ['', '1'], resets: ['after'] })
  const { list } = useCursorList({
    document: PublishersDocument,
    variables: (after) => ({ query: words.value || null, viewerIsMember: mine.value === '1' || null, after }),
    connection: (data) => data.publishers,
  })
  return { list, words, mine }
}

type ShownPublisher = Readonly<Ref<PublisherDetailsFragment | undefined>>

/** Injection key that passes the publisher from its frame to its tabs. */
export const shownPublisherKey: InjectionKey<ShownPublisher> = Symbol('shown publisher')
export const useShownPublisher = () => inject(shownPublisherKey) as ShownPublisher

const useSlug = () => {
  const route = useRoute()
  return computed(() => String(route.params.slug))
}

/** Returns the publisher in the URL. */
export function usePublisher() {
  const slug = useSlug()
  const { data, ...query } = useQuery(PublisherDocument, { variables: () => ({ slug: slug.value }) })
  return {
    ...query,
    slug,
    publisher: computed(() => data.value?.publisher ?? undefined),
  }
}

/** Returns a page of the publisher's packages, sorted by name. The URL holds the cursor. */
export function usePublisherPackages() {
  const slug = useSlug()
  return useCursorList({
    document: PublisherPackagesDocument,
    variables: (after) => ({ slug: slug.value, after }),
    connection: (data) => data.publisher?.packages,
  })
}

/** Returns the publisher's members, sorted by name, or null if the viewer may not see them. */
export function usePublisherMembers() {
  const slug = useSlug()
  const { data, ...query } = useQuery(PublisherMembersDocument, { variables: () => ({ slug: slug.value }) })
  return { ...query, members: computed(() => data.value && (data.value.publisher?.members ?? null)) }
}

/** Returns a page of the publisher's activity, newest first. The URL holds the cursor. */
export function usePublisherActivity() {
  const slug = useSlug()
  return useCursorList({
    document: PublisherActivityDocument,
    variables: (after) => ({ slug: slug.value, after }),
    connection: (data) => data.publisher?.activity,
  })
}

/** Returns a page of all publishers with their counts, for administrators, filtered by the URL parameter `q`. */
export function useAdminPublishers() {
  const words = useQueryParam<string>('q', '', { resets: ['after'], replace: true })
  const { list } = useCursorList({
    document: AdminPublishersDocument,
    variables: (after) => ({ query: words.value || null, after }),
    connection: (data) => data.publishers,
  })
  return { list, words }
}

/** Returns the publisher of a package, and the publishers to which the viewer could transfer the package. */
export function usePublisherChoice(name: MaybeRefOrGetter<string>) {
  const { data, ...query } = useQuery(PublisherChoiceDocument, { variables: () => ({ name: toValue(name) }) })
  return {
    ...query,
    pkg: computed(() => data.value?.package ?? undefined),
    choices: computed(() => (data.value?.me?.memberships ?? []).flatMap(({ publisher }) => publisher ?? [])),
  }
}

export const useUpdatePublisher = () => useMutation(UpdatePublisherDocument)
export const useSetMember = () => useMutation(SetPublisherMemberDocument)
export const useRemoveMember = () => useMutation(RemovePublisherMemberDocument)
export const useCheckDomain = () => useMutation(CheckPublisherDomainDocument)
export const useStartVerification = () => useMutation(StartDomainVerificationDocument)
export const useCompleteVerification = () => useMutation(CompleteDomainVerificationDocument)
export const useCreatePublisher = () => useMutation(CreatePublisherDocument)
export const useDeletePublisher = () => useMutation(DeletePublisherDocument)
export const useSetPackagePublisher = () => useMutation(SetPackagePublisherDocument)
