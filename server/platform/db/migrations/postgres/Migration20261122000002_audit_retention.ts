import { Migration } from '@mikro-orm/migrations'

export class Migration20261122000002_audit_retention extends Migration {
  override up() {
    this.addSql('create table "audit_cuts" ("entry_id" uuid not null, "position" bigint not null, "hash" varchar(64) not null, "kept_from" timestamptz(3) not null, primary key ("entry_id"));')
    this.addSql('alter table "audit_cuts" add constraint "audit_cuts_position_unique" unique ("position");')
    this.addSql(`create function audit_cuts_check() returns trigger language plpgsql as $$ begin
      if new.position <= (select coalesce(max(position), 0) from audit_cuts)
        or not exists (select from audit_chain where position = new.position and hash = new.hash)
        or not exists (select from audit_chain where position = new.position + 1)
        or exists (select from audit_chain c join audit_entries e on e.id = c.entry_id
                   where c.position <= new.position and e.created_at > now() - interval '90 days')
        or not exists (select from audit_entries where id = new.entry_id and kind = 'server.audit_entries_deleted' and strpos(summary, new.hash) > 0)
      then raise exception 'only audit entries of more than 90 days ago are deleted, oldest first, and never without an entry that says so';
      end if;
      return new;
    end $$;`)
    this.addSql(`create function audit_entries_keep_row() returns trigger language plpgsql as $$ begin
      if not exists (select from audit_chain where entry_id = old.id and position <= (select max(position) from audit_cuts))
      then raise exception 'audit entries are never changed';
      end if;
      return old;
    end $$;`)
    this.addSql(`create function audit_chain_keep_row() returns trigger language plpgsql as $$ begin
      if old.position > (select coalesce(max(position), 0) from audit_cuts) or exists (select from audit_entries where id = old.entry_id)
      then raise exception 'audit entries are never changed';
      end if;
      return old;
    end $$;`)
    // Without a fixed search path, a temporary table of the same name would take precedence.
    for (const name of ['audit_cuts_check', 'audit_entries_keep_row', 'audit_chain_keep_row'])
      this.addSql(`do $$ begin execute format('alter function ${name}() set search_path = %I, pg_temp', current_schema()); end $$;`)
    this.addSql('create trigger audit_cuts_check before insert on "audit_cuts" for each row execute function audit_cuts_check();')
    this.addSql('create trigger audit_cuts_keep before update or delete or truncate on "audit_cuts" for each statement execute function audit_entries_keep();')
    for (const table of ['audit_entries', 'audit_chain']) {
      this.addSql(`drop trigger ${table}_keep on "${table}";`)
      this.addSql(`create trigger ${table}_keep before update or truncate on "${table}" for each statement execute function audit_entries_keep();`)
      this.addSql(`create trigger ${table}_keep_row before delete on "${table}" for each row execute function ${table}_keep_row();`)
    }
  }
}
