import { Migration } from '@mikro-orm/migrations'

export class Migration20261122000003_audit_young extends Migration {
  override up() {
    // Otherwise, an entry outside of the chain could be given a position within a range that may be deleted.
    this.addSql(`create function audit_entries_keep_young() returns trigger language plpgsql as $$ begin
      if old.created_at > now() - interval '90 days' then raise exception 'audit entries are never changed';
      end if;
      return old;
    end $$;`)
    this.addSql(`create function audit_chain_keep_order() returns trigger language plpgsql as $$ begin
      if new.position <= (select coalesce(max(position), 0) from audit_cuts) then raise exception 'audit entries are never changed';
      end if;
      return new;
    end $$;`)
    // Without a fixed search path, a temporary table of the same name would take precedence.
    for (const name of ['audit_entries_keep_young', 'audit_chain_keep_order'])
      this.addSql(`do $$ begin execute format('alter function ${name}() set search_path = %I, pg_temp', current_schema()); end $$;`)
    this.addSql('create trigger audit_entries_keep_young before delete on "audit_entries" for each row execute function audit_entries_keep_young();')
    this.addSql('create trigger audit_chain_keep_order before insert on "audit_chain" for each row execute function audit_chain_keep_order();')
  }
}
