import { createCommentVNode, defineComponent, onMounted, onUpdated } from 'vue'

/**
 * The trigger of a menu that is loaded after its button (see menu-button.vue). It takes the place of the button in the library's components: it
 * emits the attributes and listeners that the button gets. As it has no element, the library takes the next one, the button, as its element.
 */
export const MenuTrigger = defineComponent({
  inheritAttrs: false,
  emits: { change: (attributes: Record<string, unknown>) => Boolean(attributes) },
  setup(_props, { attrs, emit }) {
    const publish = () => {
      const { class: _class, ...attributes } = attrs // the button has its own
      emit('change', attributes)
    }
    onMounted(publish)
    onUpdated(publish)
    return () => createCommentVNode(String(attrs['aria-expanded']))
  },
})
